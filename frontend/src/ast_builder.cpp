#include "ast_builder.h"

#include <charconv>

namespace pk {
namespace {

using grammar::PkParser;
using namespace ast;

/// One builder an item. Every method accepts null contexts, which is what ANTLR leaves where text did not parse.
class Builder {
 public:
  Builder(const Sources& sources, Ast& tree, Diagnostics& diags) : sources_(sources), tree_(tree), diags_(diags) {}

  void item(PkParser::ItemContext& ctx, std::string doc, bool broken) {
    Item item;
    item.span = span(&ctx);
    item.doc = std::move(doc);
    item.broken = broken;
    if (auto* import = ctx.importDecl()) {
      item.node = Import{names(import->ident())};
    } else if (auto* value = ctx.constDecl()) {
      item.node = constant(value);
    } else if (auto* mesh = ctx.meshDecl()) {
      item.node = mesh_item(mesh);
    } else if (auto* fn = ctx.fnDecl()) {
      item.node = function(fn);
    } else if (auto* main = ctx.kernelDecl()) {
      item.node = kernel(main);
    } else if (auto* test = ctx.testDecl()) {
      item.node = Test{name(test->ident()), block(test->block())};
    } else {
      return;
    }
    tree_.items.push_back(std::move(item));
  }

 private:
  // ---- places and names

  [[nodiscard]] Span span(const antlr4::Token* token) const {
    return token == nullptr ? Span{tree_.file, 0, 0} : token_span(tree_.file, *token);
  }
  [[nodiscard]] Span span(antlr4::tree::TerminalNode* node) const {
    return node == nullptr ? Span{tree_.file, 0, 0} : span(node->getSymbol());
  }
  [[nodiscard]] Span span(antlr4::ParserRuleContext* ctx) const {
    if (ctx == nullptr || ctx->getStart() == nullptr) return {tree_.file, 0, 0};
    const Span first = span(ctx->getStart());
    if (ctx->getStop() == nullptr || ctx->getStop()->getStopIndex() < ctx->getStart()->getStartIndex()) {
      return {tree_.file, first.begin, first.begin};
    }
    return cover(first, span(ctx->getStop()));
  }
  [[nodiscard]] Span between(antlr4::tree::TerminalNode* first, antlr4::tree::TerminalNode* last) const {
    return first == nullptr || last == nullptr ? Span{tree_.file, 0, 0} : cover(span(first), span(last));
  }
  [[nodiscard]] Name name_at(Span s) const { return {sources_.text(s), s}; }
  [[nodiscard]] Name name(PkParser::IdentContext* ctx) const {
    if (ctx == nullptr) return {{}, {tree_.file, 0, 0}};
    return name_at(span(ctx));
  }
  [[nodiscard]] Name name(antlr4::tree::TerminalNode* node) const { return name_at(span(node)); }
  [[nodiscard]] std::vector<Name> names(const std::vector<PkParser::IdentContext*>& list) const {
    std::vector<Name> out;
    for (auto* i : list) out.push_back(name(i));
    return out;
  }
  /// A missing name stands right after `s`.
  [[nodiscard]] Name missing_after(Span s) const { return {{}, {tree_.file, s.end, s.end}}; }

  // ---- expressions

  template <class Node>
  ExprId make(Span s, Node node, std::initializer_list<ExprId> children = {}) {
    int depth = 1;
    for (const ExprId c : children) depth = std::max(depth, depth_of(c) + 1);
    if (depth > max_tree_depth) {
      if (!depth_reported_) diags_.report<diag::nested_too_deeply>(s, max_tree_depth);
      depth_reported_ = true;
      return tree_.add(Expr{s, ErrorExpr{}});
    }
    const ExprId id = tree_.add(Expr{s, std::move(node)});
    if (depths_.empty()) first_depth_ = id.raw;
    depths_.resize(id.raw - first_depth_ + 1, 1);
    depths_[id.raw - first_depth_] = depth;
    return id;
  }
  [[nodiscard]] int depth_of(ExprId id) const {
    if (!id.valid() || id.raw < first_depth_ || id.raw - first_depth_ >= depths_.size()) return 0;
    return depths_[id.raw - first_depth_];
  }
  ExprId error_expr(Span s) { return tree_.add(Expr{s, ErrorExpr{}}); }
  [[nodiscard]] Span span_of(ExprId id) const { return id.valid() ? tree_[id].span : Span{tree_.file, 0, 0}; }

  std::vector<ExprId> exprs(PkParser::ExprListContext* ctx) {
    return ctx == nullptr ? std::vector<ExprId>{} : exprs(ctx->expr());
  }
  std::vector<ExprId> exprs(const std::vector<PkParser::ExprContext*>& list) {
    std::vector<ExprId> out;
    for (auto* e : list) out.push_back(expr(e));
    return out;
  }

  /// Folds `operand (op operand)*` to the left. `op_at(i)` gives operator i and its place.
  template <class Operands, class Build, class OpAt>
  ExprId fold_left(const Operands& operands, Build build, OpAt op_at) {
    if (operands.empty()) return error_expr({tree_.file, 0, 0});
    ExprId left = build(operands[0]);
    for (std::size_t i = 1; i < operands.size(); ++i) {
      const ExprId right = build(operands[i]);
      const auto [op, op_span] = op_at(i - 1);
      left = make(cover(span_of(left), span_of(right)), Binary{op, op_span, left, right}, {left, right});
    }
    return left;
  }
  /// As above for levels whose operators are bare tokens among the children.
  template <class Ctx, class Operands, class Build>
  ExprId fold_tokens(Ctx* ctx, const Operands& operands, Build build) {
    if (operands.size() == 1) return build(operands[0]);
    std::vector<std::pair<BinaryOp, Span>> ops;
    for (antlr4::tree::ParseTree* child : ctx->children) {
      if (auto* token = dynamic_cast<antlr4::tree::TerminalNode*>(child)) {
        ops.emplace_back(binary_op(token->getSymbol()->getType()), span(token));
      }
    }
    ops.resize(std::max(ops.size(), operands.size()));
    return fold_left(operands, build, [&](std::size_t i) { return ops[i]; });
  }
  [[nodiscard]] static BinaryOp binary_op(std::size_t token) {
    switch (token) {
      case PkParser::PLUS: case PkParser::PLUS_ASSIGN: return BinaryOp::add;
      case PkParser::MINUS: case PkParser::MINUS_ASSIGN: return BinaryOp::sub;
      case PkParser::STAR: case PkParser::STAR_ASSIGN: return BinaryOp::mul;
      case PkParser::SLASH: case PkParser::SLASH_ASSIGN: return BinaryOp::div;
      case PkParser::PERCENT: case PkParser::PERCENT_ASSIGN: return BinaryOp::rem;
      case PkParser::SHL: case PkParser::SHL_ASSIGN: return BinaryOp::shl;
      case PkParser::SHR_ASSIGN: return BinaryOp::shr;
      case PkParser::AND: case PkParser::AND_ASSIGN: return BinaryOp::bit_and;
      case PkParser::OR: case PkParser::OR_ASSIGN: return BinaryOp::bit_or;
      case PkParser::XOR: case PkParser::XOR_ASSIGN: return BinaryOp::bit_xor;
      case PkParser::EQ: return BinaryOp::eq;
      case PkParser::NE: return BinaryOp::ne;
      case PkParser::LT: return BinaryOp::lt;
      case PkParser::LE: return BinaryOp::le;
      case PkParser::GT: return BinaryOp::gt;
      case PkParser::GE: return BinaryOp::ge;
      case PkParser::ANDAND: return BinaryOp::logical_and;
      case PkParser::OROR: return BinaryOp::logical_or;
      default: return BinaryOp::add;  // only reached for text that did not parse
    }
  }

  ExprId expr(PkParser::ExprContext* ctx) {
    if (ctx == nullptr) return error_expr({tree_.file, 0, 0});
    return fold_tokens(ctx, ctx->andExpr(), [&](auto* c) { return and_expr(c); });
  }
  ExprId and_expr(PkParser::AndExprContext* ctx) {
    return fold_tokens(ctx, ctx->cmpExpr(), [&](auto* c) { return comparison(c); });
  }
  ExprId comparison(PkParser::CmpExprContext* ctx) {
    const auto operands = ctx->bitOr();
    const auto ops = ctx->cmpOp();
    if (operands.size() > 2) {
      const Span first = span(operands[0]);
      const Span middle = span(operands[1]);
      const Span last = span(operands[2]);
      diags_.report<diag::chained_comparison>(span(ctx))
          .at("two comparisons in a row")
          .help(fmt::format("write `{} {} {} && {} {} {}`", sources_.text(first), text(ops, 0), sources_.text(middle),
                            sources_.text(middle), text(ops, 1), sources_.text(last)));
      return error_expr(span(ctx));
    }
    return fold_left(operands, [&](auto* c) { return bit_or(c); }, [&](std::size_t i) {
      return i < ops.size() ? std::pair(binary_op(ops[i]->getStart()->getType()), span(ops[i]))
                            : std::pair(BinaryOp::eq, Span{tree_.file, 0, 0});
    });
  }
  template <class List>
  [[nodiscard]] std::string_view text(const List& list, std::size_t i) const {
    return i < list.size() ? sources_.text(span(list[i])) : std::string_view("<");
  }
  ExprId bit_or(PkParser::BitOrContext* ctx) {
    return fold_tokens(ctx, ctx->bitXor(), [&](auto* c) { return bit_xor(c); });
  }
  ExprId bit_xor(PkParser::BitXorContext* ctx) {
    return fold_tokens(ctx, ctx->bitAnd(), [&](auto* c) { return bit_and(c); });
  }
  ExprId bit_and(PkParser::BitAndContext* ctx) {
    return fold_tokens(ctx, ctx->shift(), [&](auto* c) { return shift(c); });
  }
  ExprId shift(PkParser::ShiftContext* ctx) {
    const auto ops = ctx->shiftOp();
    for (auto* op : ops) {
      if (op->GT().size() == 2 && op->GT(0)->getSymbol()->getStopIndex() + 1 != op->GT(1)->getSymbol()->getStartIndex()) {
        diags_.report<diag::syntax_error>(span(op), "`> >` is no operator").help("write `>>` for a right shift");
      }
    }
    return fold_left(ctx->add(), [&](auto* c) { return sum(c); }, [&](std::size_t i) {
      const bool left = i < ops.size() && ops[i]->SHL() != nullptr;
      return std::pair(left ? BinaryOp::shl : BinaryOp::shr, i < ops.size() ? span(ops[i]) : Span{tree_.file, 0, 0});
    });
  }
  ExprId sum(PkParser::AddContext* ctx) {
    if (ctx == nullptr) return error_expr({tree_.file, 0, 0});
    return fold_tokens(ctx, ctx->mul(), [&](auto* c) { return product(c); });
  }
  ExprId product(PkParser::MulContext* ctx) {
    return fold_tokens(ctx, ctx->cast(), [&](auto* c) { return cast(c); });
  }
  ExprId cast(PkParser::CastContext* ctx) {
    ExprId value = unary(ctx->unary());
    for (auto* type : ctx->ident()) value = make(cover(span_of(value), span(type)), Cast{value, name(type)}, {value});
    return value;
  }
  ExprId unary(PkParser::UnaryContext* ctx) {
    if (ctx == nullptr) return error_expr({tree_.file, 0, 0});
    ExprId value = operand(ctx->operand());
    for (auto child = ctx->children.rbegin(); child != ctx->children.rend(); ++child) {
      auto* token = dynamic_cast<antlr4::tree::TerminalNode*>(*child);
      if (token == nullptr) continue;
      const std::size_t kind = token->getSymbol()->getType();
      const UnaryOp op = kind == PkParser::MINUS ? UnaryOp::negate
                         : kind == PkParser::NOT ? UnaryOp::logical_not
                                                 : UnaryOp::bit_not;
      value = make(cover(span(token), span_of(value)), Unary{op, value}, {value});
    }
    return value;
  }
  ExprId operand(PkParser::OperandContext* ctx) {
    if (ctx == nullptr) return error_expr({tree_.file, 0, 0});
    if (auto* c = ctx->launch()) {
      return make(span(c), Launch{name(c->ident()), generic_args(c->genericArgs()), args(c->args()), between(c->LPAREN(), c->RPAREN())});
    }
    return ctx->postfix() == nullptr ? error_expr(span(ctx)) : postfix(ctx->postfix());
  }
  ExprId postfix(PkParser::PostfixContext* ctx) {
    ExprId value = primary(ctx->primary());
    for (auto* suffix : ctx->suffix()) {
      const Span whole = cover(span_of(value), span(suffix));
      if (auto* at = dynamic_cast<PkParser::AtSuffixContext*>(suffix)) {
        value = make(whole, IndexExpr{value, indices(at->index()), true, span(at->index())}, {value});
      } else if (auto* peer = dynamic_cast<PkParser::PeerSuffixContext*>(suffix)) {
        value = make(whole, Peer{value, args(peer->args())}, {value});
      } else if (auto* member = dynamic_cast<PkParser::MemberSuffixContext*>(suffix)) {
        value = make(whole, Member{value, name(member->ident())}, {value});
      } else if (auto* index = dynamic_cast<PkParser::IndexSuffixContext*>(suffix)) {
        value = make(whole, IndexExpr{value, indices(index->index()), false, span(index->index())}, {value});
      } else if (auto* call = dynamic_cast<PkParser::CallSuffixContext*>(suffix)) {
        value = make(whole, Call{value, generic_args(call->genericArgs()), args(call->args()), between(call->LPAREN(), call->RPAREN())}, {value});
      }
    }
    return value;
  }
  std::vector<Index> indices(PkParser::IndexContext* ctx) {
    std::vector<Index> out;
    if (ctx == nullptr) return out;
    for (auto* e : ctx->indexEntry()) {
      Index index;
      index.span = span(e);
      const auto parts = e->expr();
      if (e->ELLIPSIS() != nullptr) {
        index.kind = Index::Kind::ellipsis;
      } else if (e->NEW() != nullptr) {
        index.kind = Index::Kind::new_axis;
      } else if (e->PLUSCOLON() != nullptr) {
        index.kind = Index::Kind::sized;
        index.first = expr(e->expr(0));
        index.second = expr(e->expr(1));
      } else if (e->COLON() != nullptr) {
        index.kind = parts.empty() ? Index::Kind::full : Index::Kind::range;
        for (auto* part : parts) {
          const bool before = part->getStart()->getStartIndex() < e->COLON()->getSymbol()->getStartIndex();
          (before ? index.first : index.second) = expr(part);
        }
      } else {
        index.first = expr(e->expr(0));
      }
      out.push_back(index);
    }
    return out;
  }
  std::vector<Arg> generic_args(PkParser::GenericArgsContext* ctx) {
    std::vector<Arg> out;
    if (ctx == nullptr) return out;
    for (auto* a : ctx->genericArg()) out.push_back({a->ident() == nullptr ? Name{} : name(a->ident()), sum(a->add())});
    return out;
  }
  std::vector<Arg> args(PkParser::ArgsContext* ctx) {
    std::vector<Arg> out;
    if (ctx == nullptr) return out;
    for (auto* a : ctx->arg()) {
      if (a->OOB() != nullptr) {  // `oob(zero)` is the argument `oob = zero`
        out.push_back({name(a->OOB()), make(span(a->ident()), NameExpr{name(a->ident())})});
      } else {
        out.push_back({a->ident() == nullptr ? Name{} : name(a->ident()), expr(a->expr())});
      }
    }
    return out;
  }
  ExprId primary(PkParser::PrimaryContext* ctx) {
    if (ctx == nullptr) return error_expr({tree_.file, 0, 0});
    const Span s = span(ctx);
    if (ctx->INT() != nullptr) return integer(s);
    if (ctx->FLOAT() != nullptr) return floating(s);
    if (ctx->STRING() != nullptr) return string(s);
    if (ctx->TRUE() != nullptr || ctx->FALSE() != nullptr) return make(s, BoolLiteral{ctx->TRUE() != nullptr});
    if (ctx->INF_() != nullptr) return make(s, FloatLiteral{std::numeric_limits<double>::infinity()});
    if (ctx->NAN_() != nullptr) return make(s, FloatLiteral{std::numeric_limits<double>::quiet_NaN()});
    if (ctx->ident() != nullptr) return make(s, NameExpr{name(ctx->ident())});
    if (ctx->exprList() == nullptr) return error_expr(s);
    std::vector<ExprId> elements = exprs(ctx->exprList());
    if (ctx->LBRACE() != nullptr) return make(s, SetExpr{std::move(elements)});
    if (ctx->LBRACKET() != nullptr) return make(s, ListExpr{std::move(elements)});
    if (elements.size() == 1 && ctx->exprList()->COMMA().empty()) return elements[0];
    return make(s, Tuple{std::move(elements)});
  }
  ExprId integer(Span s) {
    std::string digits;
    for (const char c : sources_.text(s)) {
      if (c != '_') digits += c;
    }
    int base = 10;
    std::string_view body = digits;
    if (body.starts_with("0x")) base = 16;
    if (body.starts_with("0b")) base = 2;
    if (base != 10) body.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), value, base);
    if (error != std::errc{} || end != body.data() + body.size()) {
      diags_.report<diag::malformed_literal>(s, body.empty() ? "this number has no digits" : "this number does not fit 64 bits");
      return error_expr(s);
    }
    return make(s, IntLiteral{value});
  }
  ExprId floating(Span s) {
    std::string digits;
    for (const char c : sources_.text(s)) {
      if (c != '_') digits += c;
    }
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{}) {
      diags_.report<diag::malformed_literal>(s, "this number is too large or too small for a double").help("write `inf` or `0.0`");
      return error_expr(s);
    }
    return make(s, FloatLiteral{value});
  }
  ExprId string(Span s) {
    std::string value;
    const std::string_view raw = sources_.text(s);
    for (std::size_t i = 1; i + 1 < raw.size(); ++i) {
      if (raw[i] != '\\') {
        value += raw[i];
        continue;
      }
      ++i;
      switch (raw[i]) {
        case 'n': value += '\n'; break;
        case 't': value += '\t'; break;
        case '0': value += '\0'; break;
        case '\\': case '"': value += raw[i]; break;
        default:
          diags_.report<diag::malformed_literal>(Span{s.file, static_cast<std::uint32_t>(s.begin + i - 1), static_cast<std::uint32_t>(s.begin + i + 1)},
                                           "unknown escape in a string")
              .help("the escapes are \\n, \\t, \\0, \\\\ and \\\"");
      }
    }
    return make(s, StringLiteral{std::move(value)});
  }

  // ---- types and attributes

  TypeId type(PkParser::TypeContext* ctx) {
    TypeExpr t;
    t.span = span(ctx);
    if (ctx == nullptr) return tree_.add(std::move(t));
    for (auto* member : ctx->type()) t.tuple.push_back(type(member));
    if (ctx->space() != nullptr) t.space = name_at(span(ctx->space()));
    if (t.tuple.empty()) t.base = name(ctx->ident());
    t.brackets = ctx->LBRACKET() != nullptr;
    t.any_shape = ctx->ELLIPSIS() != nullptr;
    t.dims = exprs(ctx->exprList());
    return tree_.add(std::move(t));
  }
  TypeId optional_type(PkParser::TypeContext* ctx) { return ctx == nullptr ? TypeId{} : type(ctx); }
  std::vector<Attribute> attributes(const std::vector<PkParser::AttributeContext*>& list) {
    std::vector<Attribute> out;
    for (auto* a : list) {
      const Span keyword = a->GLOBAL() != nullptr ? span(a->GLOBAL()) : span(a->attributeName());
      out.push_back({name_at(keyword), exprs(a->exprList()), span(a)});
    }
    return out;
  }
  std::optional<Attribute> registers(PkParser::RegistersContext* ctx) {
    if (ctx == nullptr) return std::nullopt;
    return Attribute{name(ctx->REGISTERS()), {expr(ctx->expr())}, span(ctx)};
  }
  std::optional<Attribute> collective(PkParser::CollectiveContext* ctx) {
    if (ctx == nullptr) return std::nullopt;
    Attribute a{name(ctx->COLLECTIVE()), {}, span(ctx)};
    for (auto* i : ctx->ident()) a.args.push_back(make(span(i), NameExpr{name(i)}));
    return a;
  }

  // ---- items

  Const constant(PkParser::ConstDeclContext* ctx) { return {name(ctx->ident()), optional_type(ctx->type()), expr(ctx->expr())}; }
  std::vector<Axis> axes(const std::vector<PkParser::AxisContext*>& list) {
    std::vector<Axis> out;
    for (auto* a : list) {
      Axis axis;
      auto* kind = a->axisKind();
      axis.kind = kind != nullptr && kind->CLUSTER() != nullptr ? Axis::Kind::cluster
                  : kind != nullptr && kind->WG() != nullptr    ? Axis::Kind::wg
                                                                : Axis::Kind::grid;
      axis.name = a->ident() == nullptr ? missing_after(span(kind)) : name(a->ident());
      if (a->expr() != nullptr) axis.size = expr(a->expr());
      axis.nonportable = a->NONPORTABLE() != nullptr;
      axis.span = span(a);
      out.push_back(axis);
    }
    return out;
  }
  MeshItem mesh_item(PkParser::MeshDeclContext* ctx) {
    MeshItem item{name(ctx->ident()), {}, axes(ctx->axis())};
    for (auto* p : ctx->meshParam()) {
      Param param{Mode::value, name(p->ident()), type(p->type()), {}, std::nullopt, span(p)};
      item.params.push_back(std::move(param));
    }
    return item;
  }
  std::vector<Generic> generics(PkParser::GenericsContext* ctx) {
    std::vector<Generic> out;
    if (ctx == nullptr) return out;
    for (auto* g : ctx->generic()) {
      Generic generic;
      const std::vector<Name> all = names(g->ident());
      if (all.empty()) continue;
      generic.name = all[0];
      generic.kinds.assign(all.begin() + 1, all.end());
      if (g->add() != nullptr) generic.default_value = sum(g->add());
      generic.span = span(g);
      out.push_back(std::move(generic));
    }
    return out;
  }
  [[nodiscard]] static Mode mode(PkParser::DirModeContext* ctx) {
    if (ctx == nullptr) return Mode::value;
    if (ctx->IN() != nullptr) return Mode::in;
    return ctx->OUT() != nullptr ? Mode::out : Mode::inout;
  }
  Function function(PkParser::FnDeclContext* ctx) {
    Function f;
    f.name = name(ctx->ident());
    f.generics = generics(ctx->generics());
    for (auto* p : ctx->fnParam()) {
      f.params.push_back({mode(p->dirMode()), name(p->ident()), type(p->type()), attributes(p->attribute()), std::nullopt, span(p)});
    }
    f.result = optional_type(ctx->type());
    if (ctx->whereClause() != nullptr) f.where = exprs(ctx->whereClause()->expr());
    f.body = block(ctx->block());
    return f;
  }
  Kernel kernel(PkParser::KernelDeclContext* ctx) {
    Kernel k;
    k.name = name(ctx->ident());
    k.generics = generics(ctx->generics());
    for (auto* p : ctx->kernelParam()) {
      Param param{mode(p->dirMode()), name(p->ident()), type(p->type()), {}, std::nullopt, span(p)};
      if (auto* b = p->blockSpec()) {
        const auto lists = b->exprList();
        BlockSpec spec;
        if (!lists.empty()) spec.shape = exprs(lists[0]);
        if (lists.size() > 1) spec.at = exprs(lists[1]);
        spec.attributes = attributes(b->attribute());
        spec.span = span(b);
        param.block = std::move(spec);
      }
      k.params.push_back(std::move(param));
    }
    if (ctx->whereClause() != nullptr) k.where = exprs(ctx->whereClause()->expr());
    if (ctx->placement() != nullptr) placement(ctx->placement(), k);
    k.body = block(ctx->block());
    return k;
  }
  void placement(PkParser::PlacementContext* ctx, Kernel& k) {
    if (auto* m = ctx->meshUse()) {
      MeshUse use;
      use.span = span(m);
      if (m->ident() != nullptr) use.named = name(m->ident());
      use.args = exprs(m->exprList());
      use.axes = axes(m->axis());
      k.mesh = std::move(use);
    } else if (auto* b = ctx->blockedGrid()) {
      BlockedGrid grid;
      grid.span = span(b);
      for (auto* a : b->blockedAxis()) grid.axes.push_back({name(a->ident()), a->SEQUENTIAL() != nullptr, expr(a->expr()), span(a)});
      grid.attributes = attributes(b->attribute());
      if (b->scratch() != nullptr) grid.scratch = allocs(b->scratch()->alloc());
      k.blocked = std::move(grid);
    }
  }

  // ---- statements

  Block block(PkParser::BlockContext* ctx) {
    Block b;
    b.span = span(ctx);
    if (ctx == nullptr) return b;
    for (auto* s : ctx->stmt()) b.stmts.push_back(stmt(s));
    return b;
  }
  StmtId stmt(PkParser::StmtContext* ctx) {
    const Span s = span(ctx);
    if (auto* c = dynamic_cast<PkParser::LetStmtContext*>(ctx)) {
      Let let{c->VAR() != nullptr, {}, optional_type(c->type()), expr(c->expr())};
      if (c->pattern() != nullptr) let.names = names(c->pattern()->ident());
      return tree_.add(Stmt{s, std::move(let)});
    }
    if (auto* c = dynamic_cast<PkParser::ConstStmtContext*>(ctx)) {
      return c->constDecl() == nullptr ? tree_.add(Stmt{s, ErrorStmt{}}) : tree_.add(Stmt{s, constant(c->constDecl())});
    }
    if (auto* c = dynamic_cast<PkParser::IfStatementContext*>(ctx)) {
      return c->ifStmt() == nullptr ? tree_.add(Stmt{s, ErrorStmt{}}) : if_chain(c->ifStmt());
    }
    if (auto* c = dynamic_cast<PkParser::ForStmtContext*>(ctx)) {
      const auto e = c->expr();
      For loop{c->UNROLL() != nullptr, name(c->ident()), expr(c->expr(0)), expr(c->expr(1)), {}, block(c->block())};
      if (e.size() > 2) loop.step = expr(e[2]);
      return tree_.add(Stmt{s, std::move(loop)});
    }
    if (auto* c = dynamic_cast<PkParser::WhileStmtContext*>(ctx)) return tree_.add(Stmt{s, While{expr(c->expr()), block(c->block())}});
    if (dynamic_cast<PkParser::BreakStmtContext*>(ctx) != nullptr) return tree_.add(Stmt{s, Break{}});
    if (dynamic_cast<PkParser::ContinueStmtContext*>(ctx) != nullptr) return tree_.add(Stmt{s, Continue{}});
    if (auto* c = dynamic_cast<PkParser::ReturnStmtContext*>(ctx)) {
      return tree_.add(Stmt{s, Return{c->expr() == nullptr ? ExprId{} : expr(c->expr())}});
    }
    if (auto* c = dynamic_cast<PkParser::ScopedStmtContext*>(ctx)) {
      return tree_.add(Stmt{s, Scoped{span(c->SCOPED()), collective(c->collective()), allocs(c->alloc()),
                                      between(c->LPAREN(), c->RPAREN()), block(c->block())}});
    }
    if (auto* c = dynamic_cast<PkParser::SpecializeStmtContext*>(ctx)) return specialize(c);
    if (auto* c = dynamic_cast<PkParser::PipelineStmtContext*>(ctx)) return pipeline(c);
    if (auto* c = dynamic_cast<PkParser::StepStmtContext*>(ctx)) return tree_.add(Stmt{s, Step{block(c->block())}});
    if (auto* c = dynamic_cast<PkParser::FastStmtContext*>(ctx)) return tree_.add(Stmt{s, Fast{block(c->block())}});
    if (auto* c = dynamic_cast<PkParser::ExpectErrorStmtContext*>(ctx)) {
      return tree_.add(Stmt{s, ExpectError{expr(c->expr()), block(c->block())}});
    }
    if (auto* c = dynamic_cast<PkParser::BlockStmtContext*>(ctx)) return tree_.add(Stmt{s, BlockStmt{block(c->block())}});
    if (auto* c = dynamic_cast<PkParser::ExprStmtContext*>(ctx)) {
      if (c->assignOp() == nullptr) return tree_.add(Stmt{s, ExprStmt{expr(c->expr(0))}});
      const std::size_t token = c->assignOp()->getStart()->getType();
      std::optional<BinaryOp> op;
      if (token != PkParser::ASSIGN) op = binary_op(token);
      return tree_.add(Stmt{s, Assign{expr(c->expr(0)), op, span(c->assignOp()), expr(c->expr(1))}});
    }
    return tree_.add(Stmt{s, ErrorStmt{}});
  }
  /// `if … else if … else …`: each `else if` becomes an If alone in an else block.
  StmtId if_chain(PkParser::IfStmtContext* ctx) {
    const auto conditions = ctx->expr();
    const auto blocks = ctx->block();
    const Span whole = span(ctx);
    if (conditions.size() > static_cast<std::size_t>(max_else_ifs)) {
      diags_.report<diag::nested_too_deeply>(span(conditions[max_else_ifs]), max_else_ifs);
      return tree_.add(Stmt{whole, ErrorStmt{}});
    }
    std::vector<If> parts;
    for (std::size_t i = 0; i < conditions.size() && i < blocks.size(); ++i) {
      parts.push_back({expr(conditions[i]), block(blocks[i]), std::nullopt});
    }
    if (parts.empty()) return tree_.add(Stmt{whole, ErrorStmt{}});
    if (blocks.size() > conditions.size()) parts.back().otherwise = block(blocks.back());
    for (std::size_t i = parts.size() - 1; i > 0; --i) {
      const Span s{whole.file, span_of(parts[i].condition).begin, whole.end};
      parts[i - 1].otherwise = Block{s, {tree_.add(Stmt{s, std::move(parts[i])})}};
    }
    return tree_.add(Stmt{whole, std::move(parts[0])});
  }
  std::vector<Alloc> allocs(const std::vector<PkParser::AllocContext*>& list) {
    std::vector<Alloc> out;
    for (auto* a : list) {
      Alloc alloc;
      alloc.span = span(a);
      if (a->UNION() != nullptr) {
        alloc.members = allocs(a->alloc());
      } else {
        alloc.name = name(a->ident());
        alloc.type = type(a->type());
        alloc.attributes = attributes(a->attribute());
        if (a->expr() != nullptr) alloc.init = expr(a->expr());
      }
      out.push_back(std::move(alloc));
    }
    return out;
  }
  StmtId specialize(PkParser::SpecializeStmtContext* ctx) {
    Specialize s{span(ctx->SPECIALIZE()), name(ctx->ident()), {}};
    for (auto* a : ctx->arm()) {
      Arm arm;
      arm.selector = span(a->armSelector());
      if (a->armSelector() != nullptr) arm.threads = exprs(a->armSelector()->exprList());
      arm.registers = registers(a->registers());
      arm.body = block(a->block());
      s.arms.push_back(std::move(arm));
    }
    return tree_.add(Stmt{span(ctx), std::move(s)});
  }
  StmtId pipeline(PkParser::PipelineStmtContext* ctx) {
    Pipeline p;
    p.keyword = span(ctx->PIPELINE());
    if (auto* r = ctx->pipeRanges()) {
      const std::vector<Name> variables = names(r->ident());
      std::vector<std::pair<ExprId, ExprId>> bounds;
      if (r->expr().size() == 2) bounds.emplace_back(expr(r->expr(0)), expr(r->expr(1)));
      for (auto* range : r->pipeRange()) bounds.emplace_back(expr(range->expr(0)), expr(range->expr(1)));
      if (bounds.size() != variables.size()) {
        diags_.report<diag::syntax_error>(span(r), fmt::format("{} loop variables for {} ranges", variables.size(), bounds.size()))
            .help("give each variable one range: `pipeline (i, k) in (0 .. a, 0 .. b)`");
      }
      for (std::size_t i = 0; i < variables.size() && i < bounds.size(); ++i) {
        p.ranges.push_back({variables[i], bounds[i].first, bounds[i].second});
      }
    }
    p.attributes = attributes(ctx->attribute());
    for (auto* r : ctx->pipeRoles()) {
      PipelineRoles roles;
      const auto e = r->expr();
      roles.axis = name(r->ident());
      if (!e.empty()) roles.memory = expr(e[0]);
      for (std::size_t i = 1; i < e.size(); ++i) roles.compute.push_back(expr(e[i]));
      for (auto* count : r->registers()) {
        const bool memory = e.size() > 1 && count->getStart()->getStartIndex() < e[1]->getStart()->getStartIndex();
        (memory ? roles.memory_registers : roles.compute_registers) = registers(count);
      }
      roles.span = span(r);
      if (p.roles) diags_.report<diag::syntax_error>(roles.span, "a second `specialize` clause");
      p.roles = std::move(roles);
    }
    for (auto* t : ctx->transfer()) {
      p.transfers.push_back({t->STORE() != nullptr, name(t->ident()), expr(t->expr()), attributes(t->attribute()), span(t)});
    }
    p.compute_form = ctx->COMPUTE() != nullptr;
    p.body = block(ctx->block());
    return tree_.add(Stmt{span(ctx), std::move(p)});
  }

  const Sources& sources_;
  Ast& tree_;
  Diagnostics& diags_;
  std::vector<int> depths_;         // depth of each expression of this item, from first_depth_ on
  std::uint32_t first_depth_ = 0;
  bool depth_reported_ = false;
};

}  // namespace

void build_item(const Sources& sources, Ast& tree, PkParser::ItemContext& item, std::string doc, bool broken, Diagnostics& diags) {
  Builder(sources, tree, diags).item(item, std::move(doc), broken);
}

}  // namespace pk
