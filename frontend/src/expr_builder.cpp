#include "expr_builder.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace pk {

using namespace ast;
using grammar::PkParser;

namespace {

struct BinaryRow {
  std::size_t token;
  BinaryOp op;
  int binding;  ///< higher binds tighter; all are left-associative
};
constexpr int comparison_binding = 3;
constexpr BinaryRow binary_rows[] = {
    {PkParser::OROR, BinaryOp::logical_or, 1}, {PkParser::ANDAND, BinaryOp::logical_and, 2},
    {PkParser::EQ, BinaryOp::eq, 3},           {PkParser::NE, BinaryOp::ne, 3},
    {PkParser::LT, BinaryOp::lt, 3},           {PkParser::LE, BinaryOp::le, 3},
    {PkParser::GT, BinaryOp::gt, 3},           {PkParser::GE, BinaryOp::ge, 3},
    {PkParser::OR, BinaryOp::bit_or, 4},       {PkParser::XOR, BinaryOp::bit_xor, 5},
    {PkParser::AND, BinaryOp::bit_and, 6},     {PkParser::SHL, BinaryOp::shl, 7},
    {PkParser::SHR, BinaryOp::shr, 7},         {PkParser::PLUS, BinaryOp::add, 8},
    {PkParser::MINUS, BinaryOp::sub, 8},       {PkParser::STAR, BinaryOp::mul, 9},
    {PkParser::SLASH, BinaryOp::div, 9},       {PkParser::PERCENT, BinaryOp::rem, 9},
};

/// The row of a token that the grammar accepts as a binary operator.
const BinaryRow& binary_row(std::size_t token) {
  const auto* row = std::find_if(std::begin(binary_rows), std::end(binary_rows),
                                 [&](const BinaryRow& r) { return r.token == token; });
  PK_CHECK(row != std::end(binary_rows), "a binary operator without precedence");
  return *row;
}

/// The deepest of a node's children, by `depth`.
template <class Depth>
int deepest(const std::vector<ExprId>& list, Depth depth) {
  int d = 0;
  for (const ExprId e : list) d = std::max(d, depth(e));
  return d;
}
template <class Depth>
int deepest(const std::vector<Arg>& list, Depth depth) {
  int d = 0;
  for (const Arg& a : list) d = std::max(d, depth(a.value));
  return d;
}
template <class Depth>
struct ChildDepth {
  Depth depth;
  template <class Leaf>
  int operator()(const Leaf&) const {
    return 0;
  }
  int operator()(const Unary& e) const { return depth(e.operand); }
  int operator()(const Binary& e) const { return std::max(depth(e.left), depth(e.right)); }
  int operator()(const Cast& e) const { return depth(e.operand); }
  int operator()(const IndexExpr& e) const {
    int d = depth(e.base);
    for (const Index& i : e.indices) d = std::max({d, depth(i.first), depth(i.second)});
    return d;
  }
  int operator()(const Member& e) const { return depth(e.base); }
  int operator()(const Peer& e) const { return std::max(depth(e.base), deepest(e.coordinates, depth)); }
  int operator()(const Call& e) const {
    return std::max({depth(e.callee), deepest(e.generics, depth), deepest(e.args, depth)});
  }
  int operator()(const Launch& e) const { return std::max(deepest(e.generics, depth), deepest(e.args, depth)); }
  int operator()(const Tuple& e) const { return deepest(e.elements, depth); }
  int operator()(const SetExpr& e) const { return deepest(e.elements, depth); }
  int operator()(const ListExpr& e) const { return deepest(e.elements, depth); }
};

std::string without_underscores(std::string_view text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out), [](char c) { return c != '_'; });
  return out;
}

}  // namespace

// ---- places and names

Span ExprBuilder::span(antlr4::ParserRuleContext* ctx) const {
  if (ctx == nullptr || ctx->getStart() == nullptr) return nowhere_;
  const Span first = span(ctx->getStart());
  if (ctx->getStop() == nullptr || ctx->getStop()->getStopIndex() < ctx->getStart()->getStartIndex()) {
    return {tree_.file, first.begin, first.begin};
  }
  return cover(first, span(ctx->getStop()));
}

Span ExprBuilder::between(antlr4::tree::TerminalNode* first, antlr4::tree::TerminalNode* last) const {
  return first == nullptr || last == nullptr ? nowhere_ : cover(span(first), span(last));
}

std::vector<Name> ExprBuilder::names(const std::vector<PkParser::IdentContext*>& list) const {
  std::vector<Name> out;
  for (auto* i : list) out.push_back(name(i));
  return out;
}

// ---- expressions

template <class Node>
ExprId ExprBuilder::make(Span s, Node node) {
  const auto depth = [this](ExprId e) { return depth_of(e); };
  const int own = 1 + ChildDepth<decltype(depth)>{depth}(node);
  if (own > max_tree_depth) {
    if (!depth_reported_) diags_.report<diag::nested_too_deeply>(s, max_tree_depth);
    depth_reported_ = true;
    return error_expr(s);
  }
  const ExprId id = tree_.add(Expr{s, std::move(node)});
  if (depths_.empty()) first_depth_ = id.raw;
  depths_.resize(id.raw - first_depth_ + 1, 1);
  depths_[id.raw - first_depth_] = own;
  return id;
}

int ExprBuilder::depth_of(ExprId id) const {
  if (!id.valid() || id.raw < first_depth_ || id.raw - first_depth_ >= depths_.size()) return 0;
  return depths_[id.raw - first_depth_];
}

std::vector<ExprId> ExprBuilder::exprs(PkParser::ExprListContext* ctx) {
  return ctx == nullptr ? std::vector<ExprId>{} : exprs(ctx->expr());
}

std::vector<ExprId> ExprBuilder::exprs(const std::vector<PkParser::ExprContext*>& list) {
  std::vector<ExprId> out;
  for (auto* e : list) out.push_back(expr(e));
  return out;
}

ExprId ExprBuilder::expr(PkParser::ExprContext* ctx) {
  return ctx == nullptr ? error_expr(nowhere_) : chain(ctx->operand(), ctx->binaryOp()).id;
}

ExprId ExprBuilder::sum(PkParser::SumContext* ctx) {
  return ctx == nullptr ? error_expr(nowhere_) : chain(ctx->operand(), ctx->sumOp()).id;
}

/// `operand (op operand)*` to a tree, by the table of precedence. Operators that still wait for their right side are on
/// a stack.
template <class Op>
ExprBuilder::Value ExprBuilder::chain(const std::vector<PkParser::OperandContext*>& operands,
                                      const std::vector<Op*>& ops) {
  if (operands.empty()) return error_value(nowhere_);
  struct Waiting {
    Value left;
    const BinaryRow* row;
    Span op_span;
    bool left_is_comparison;
  };
  std::vector<Waiting> waiting;
  Value right = operand(operands[0]);
  bool is_comparison = false;  // `right` is a comparison without parentheses
  bool chained = false;        // a chain of comparisons is reported
  const auto combine_down_to = [&](int binding) {
    while (!waiting.empty() && waiting.back().row->binding >= binding) {
      const Waiting& w = waiting.back();
      right = combine(w.row->op, w.op_span, w.left, right, w.left_is_comparison, chained);
      is_comparison = w.row->binding == comparison_binding;
      waiting.pop_back();
    }
  };
  for (std::size_t i = 1; i < operands.size() && i <= ops.size(); ++i) {
    const BinaryRow& row = binary_row(ops[i - 1]->getStart()->getType());
    combine_down_to(row.binding);
    waiting.push_back({right, &row, span(ops[i - 1]), is_comparison});
    right = operand(operands[i]);
    is_comparison = false;
  }
  combine_down_to(0);
  return right;
}

ExprBuilder::Value ExprBuilder::combine(BinaryOp op, Span op_span, const Value& left, const Value& right,
                                        bool left_is_comparison, bool& chained) {
  const Span whole = cover(left.outer, right.outer);
  const bool comparison = op == BinaryOp::eq || op == BinaryOp::ne || (op >= BinaryOp::lt && op <= BinaryOp::ge);
  if (comparison && left_is_comparison) {
    if (!chained) report_comparison_chain(left, op, op_span, right);
    chained = true;
    return error_value(whole);
  }
  return {make(whole, Binary{op, op_span, left.id, right.id}), whole};
}

void ExprBuilder::report_comparison_chain(const Value& left, BinaryOp op, Span op_span, const Value& right) {
  const auto* first = std::get_if<Binary>(&tree_[left.id].node);
  if (first == nullptr) return;  // too deep, reported
  const bool equality =
      op == BinaryOp::eq || op == BinaryOp::ne || first->op == BinaryOp::eq || first->op == BinaryOp::ne;
  const std::string_view a = sources_.text(Span{tree_.file, left.outer.begin, first->op_span.begin});
  const std::string_view b = sources_.text(Span{tree_.file, first->op_span.end, left.outer.end});
  const auto trimmed = [](std::string_view s) {
    s.remove_prefix(std::min(s.find_first_not_of(" \t\r\n"), s.size()));
    return s.substr(0, s.find_last_not_of(" \t\r\n") + 1);
  };
  auto report = diags_.report<diag::chained_comparison>(cover(left.outer, right.outer));
  report.at("two comparisons in a row")
      .help(fmt::format("write `{0} {1} {2} && {2} {3} {4}`", trimmed(a), sources_.text(first->op_span), trimmed(b),
                        sources_.text(op_span), trimmed(sources_.text(right.outer))));
  if (equality) report.help("put parentheses around a comparison whose result you compare");
}

ExprBuilder::Value ExprBuilder::operand(PkParser::OperandContext* ctx) {
  if (ctx == nullptr) return error_value(nowhere_);
  Value value = ctx->launch() != nullptr ? launch(ctx->launch()) : postfix(ctx->postfix());
  // `- x as T` is `(- x) as T`.
  for (auto child = ctx->children.rbegin(); child != ctx->children.rend(); ++child) {
    auto* token = dynamic_cast<antlr4::tree::TerminalNode*>(*child);
    if (token == nullptr || token->getSymbol()->getType() == PkParser::AS) continue;
    const std::size_t kind = token->getSymbol()->getType();
    const UnaryOp op = kind == PkParser::MINUS ? UnaryOp::negate
                       : kind == PkParser::NOT ? UnaryOp::logical_not
                                               : UnaryOp::bit_not;
    const Span whole = cover(span(token), value.outer);
    value = {make(whole, Unary{op, value.id}), whole};
  }
  for (auto* type : ctx->ident()) {
    const Span whole = cover(value.outer, span(type));
    value = {make(whole, Cast{value.id, name(type)}), whole};
  }
  return value;
}

ExprBuilder::Value ExprBuilder::launch(PkParser::LaunchContext* ctx) {
  const Span s = span(ctx);
  return {make(s, Launch{name(ctx->ident()), generic_args(ctx->genericArgs()), args(ctx->args()),
                         between(ctx->LPAREN(), ctx->RPAREN())}),
          s};
}

ExprBuilder::Value ExprBuilder::postfix(PkParser::PostfixContext* ctx) {
  if (ctx == nullptr) return error_value(nowhere_);
  Value value = primary(ctx->primary());
  const auto suffixes = ctx->suffix();
  for (std::size_t i = 0; i < suffixes.size(); ++i) {
    auto* next = i + 1 < suffixes.size() ? dynamic_cast<PkParser::IndexSuffixContext*>(suffixes[i + 1]) : nullptr;
    bool took_next = false;
    value = suffix(value, suffixes[i], next == nullptr ? nullptr : next->index(), took_next);
    if (took_next) ++i;
  }
  return value;
}

/// `took_next`: whether `next_index`, the brackets behind this suffix, belong to it.
ExprBuilder::Value ExprBuilder::suffix(const Value& base, PkParser::SuffixContext* ctx,
                                       PkParser::IndexContext* next_index, bool& took_next) {
  const Span whole = cover(base.outer, span(ctx));
  if (auto* c = dynamic_cast<PkParser::MemberSuffixContext*>(ctx)) return member(base, c, next_index, took_next);
  if (auto* c = dynamic_cast<PkParser::IndexSuffixContext*>(ctx)) {
    return {make(whole, IndexExpr{base.id, indices(c->index()), false, span(c->index())}), whole};
  }
  if (auto* c = dynamic_cast<PkParser::CallSuffixContext*>(ctx)) {
    return {
        make(whole, Call{base.id, generic_args(c->genericArgs()), args(c->args()), between(c->LPAREN(), c->RPAREN())}),
        whole};
  }
  return error_value(whole);
}

ExprBuilder::Value ExprBuilder::member(const Value& base, PkParser::MemberSuffixContext* ctx,
                                       PkParser::IndexContext* next_index, bool& took_next) {
  const Name word = name(ctx->ident());
  const Span own = cover(base.outer, span(ctx));
  if (word.text != "at" && word.text != "peer") return {make(own, Member{base.id, word}), own};
  if (next_index == nullptr) {
    if (!broken_) diags_.report<diag::syntax_error>(word.span, fmt::format("expected `[` after `.{}`", word.text));
    return error_value(own);
  }
  took_next = true;
  const Span whole = cover(base.outer, span(next_index));
  if (word.text == "peer") return {make(whole, Peer{base.id, coordinates(next_index)}), whole};
  return {make(whole, IndexExpr{base.id, indices(next_index), true, span(next_index)}), whole};
}

std::vector<Index> ExprBuilder::indices(PkParser::IndexContext* ctx) {
  std::vector<Index> out;
  if (ctx == nullptr) return out;
  for (auto* e : ctx->indexEntry()) out.push_back(index(e));
  return out;
}

Index ExprBuilder::index(PkParser::IndexEntryContext* ctx) {
  Index index;
  index.span = span(ctx);
  const auto parts = ctx->expr();
  if (ctx->ELLIPSIS() != nullptr) {
    index.kind = Index::Kind::ellipsis;
  } else if (ctx->NEW() != nullptr) {
    index.kind = Index::Kind::new_axis;
  } else if (ctx->COLON() != nullptr) {
    index.kind = parts.empty() ? Index::Kind::full : Index::Kind::range;
    for (auto* part : parts) {
      const bool before = part->getStart()->getStartIndex() < ctx->COLON()->getSymbol()->getStartIndex();
      (before ? index.first : index.second) = expr(part);
    }
  } else {
    index.first = parts.empty() ? error_expr(index.span) : expr(parts[0]);
    if (ctx->PLUSCOLON() != nullptr) {
      index.kind = Index::Kind::sized;
      index.second = parts.size() > 1 ? expr(parts[1]) : error_expr(index.span);
    }
    if (ctx->ASSIGN() != nullptr && !broken_) {
      diags_.report<diag::syntax_error>(span(ctx->ASSIGN()), "expected `,` or `]`, found `=`")
          .help("only `.peer[…]` names its axes");
    }
  }
  return index;
}

/// `[c = i, …]` behind `.peer`.
std::vector<Arg> ExprBuilder::coordinates(PkParser::IndexContext* ctx) {
  std::vector<Arg> out;
  for (auto* e : ctx->indexEntry()) {
    const auto parts = e->expr();
    if (e->ASSIGN() == nullptr || parts.size() != 2) {
      if (broken_) continue;
      diags_.report<diag::syntax_error>(span(e), "expected `axis = coordinate`")
          .help("name the cluster axis: `x.peer[c = 1]`");
      continue;
    }
    out.push_back({argument_name(expr(parts[0]), span(e->ASSIGN())), expr(parts[1])});
  }
  return out;
}

/// The name in `name = value`.
Name ExprBuilder::argument_name(ExprId left, Span assign) {
  if (const auto* named = std::get_if<NameExpr>(&tree_[left].node)) return named->name;
  const bool failed = broken_ || std::holds_alternative<ErrorExpr>(tree_[left].node);
  if (!failed)
    diags_.report<diag::syntax_error>(span_of(left), "expected a name before `=`")
        .label(assign, "this `=` gives a named argument");
  return {};
}

std::vector<Arg> ExprBuilder::generic_args(PkParser::GenericArgsContext* ctx) {
  std::vector<Arg> out;
  if (ctx == nullptr) return out;
  for (auto* a : ctx->genericArg()) {
    const auto parts = a->sum();
    if (parts.empty()) continue;
    Arg result{{}, sum(parts.back())};
    if (a->ASSIGN() != nullptr && parts.size() == 2) result.name = argument_name(sum(parts[0]), span(a->ASSIGN()));
    out.push_back(result);
  }
  return out;
}

std::vector<Arg> ExprBuilder::args(PkParser::ArgsContext* ctx) {
  std::vector<Arg> out;
  if (ctx == nullptr) return out;
  for (auto* a : ctx->arg()) out.push_back(arg(a));
  return out;
}

Arg ExprBuilder::arg(PkParser::ArgContext* ctx) {
  const auto parts = ctx->expr();
  if (parts.empty()) return {{}, error_expr(span(ctx))};
  Arg result{{}, expr(parts.back())};
  if (ctx->ASSIGN() != nullptr) {
    if (parts.size() == 2) result.name = argument_name(expr(parts[0]), span(ctx->ASSIGN()));
    return result;
  }
  // `oob(zero)` is the argument `oob = zero`.
  const auto* call = std::get_if<Call>(&tree_[result.value].node);
  const auto* callee = call == nullptr ? nullptr : std::get_if<NameExpr>(&tree_[call->callee].node);
  if (callee != nullptr && callee->name.text == "oob" && call->args.size() == 1 && !call->args[0].name.present()) {
    return {callee->name, call->args[0].value};
  }
  return result;
}

ExprBuilder::Value ExprBuilder::primary(PkParser::PrimaryContext* ctx) {
  if (ctx == nullptr) return error_value(nowhere_);
  const Span s = span(ctx);
  if (ctx->ident() != nullptr) return {make(s, NameExpr{name(ctx->ident())}), s};
  if (ctx->INT() != nullptr) return {integer(s), s};
  if (ctx->FLOAT() != nullptr) return {floating(s), s};
  if (ctx->STRING() != nullptr) return {string(s), s};
  if (ctx->TRUE() != nullptr || ctx->FALSE() != nullptr) return {make(s, BoolLiteral{ctx->TRUE() != nullptr}), s};
  if (ctx->INF_() != nullptr) return {make(s, FloatLiteral{std::numeric_limits<double>::infinity()}), s};
  if (ctx->NAN_() != nullptr) return {make(s, FloatLiteral{std::numeric_limits<double>::quiet_NaN()}), s};
  if (ctx->exprList() == nullptr) return error_value(s);
  std::vector<ExprId> elements = exprs(ctx->exprList());
  if (ctx->LSET() != nullptr) return {make(s, SetExpr{std::move(elements)}), s};
  if (ctx->LBRACKET() != nullptr) return {make(s, ListExpr{std::move(elements)}), s};
  if (elements.size() == 1 && ctx->exprList()->LAST_COMMA() == nullptr) return {elements[0], s};
  return {make(s, Tuple{std::move(elements)}), s};
}

ExprId ExprBuilder::integer(Span s) {
  const std::string text = without_underscores(sources_.text(s));
  std::string_view digits = text;
  const int base = digits.starts_with("0x") ? 16 : digits.starts_with("0b") ? 2 : 10;
  if (base != 10) digits.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error == std::errc{} && end == digits.data() + digits.size()) return make(s, IntLiteral{value});
  diags_.report<diag::malformed_literal>(
      s, digits.empty() ? "this number has no digits" : "this number does not fit 64 bits");
  return error_expr(s);
}

ExprId ExprBuilder::floating(Span s) {
  const std::string digits = without_underscores(sources_.text(s));
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc{} && end == digits.data() + digits.size()) return make(s, FloatLiteral{value});
  diags_.report<diag::malformed_literal>(s, "this number is too large or too small for a double")
      .help("write `inf` or `0.0`");
  return error_expr(s);
}

ExprId ExprBuilder::string(Span s) {
  std::string value;
  std::string_view raw = sources_.text(s);
  raw.remove_prefix(1);
  if (raw.ends_with('"')) raw.remove_suffix(1);  // absent where the string never ends
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      value += raw[i];
      continue;
    }
    switch (raw[++i]) {
      case 'n':
        value += '\n';
        break;
      case 't':
        value += '\t';
        break;
      case '0':
        value += '\0';
        break;
      case '\\':
      case '"':
        value += raw[i];
        break;
      default: {
        const auto at = static_cast<std::uint32_t>(s.begin + i);
        diags_.report<diag::malformed_literal>(Span{s.file, at, at + 2}, "unknown escape in a string")
            .help("the escapes are \\n, \\t, \\0, \\\\ and \\\"");
      }
    }
  }
  return make(s, StringLiteral{std::move(value)});
}

// ---- types and attributes

TypeId ExprBuilder::type(PkParser::TypeContext* ctx) {
  TypeExpr t;
  t.span = span(ctx);
  if (ctx == nullptr) return tree_.add(std::move(t));
  for (auto* element : ctx->type()) t.tuple.push_back(type(element));
  if (ctx->space() != nullptr) t.space = name_at(span(ctx->space()));
  if (t.tuple.empty()) t.base = name(ctx->ident());
  t.brackets = ctx->LBRACKET() != nullptr;
  t.any_shape = ctx->ELLIPSIS() != nullptr;
  t.dims = exprs(ctx->exprList());
  return tree_.add(std::move(t));
}

std::vector<Attribute> ExprBuilder::attributes(const std::vector<PkParser::AttributeContext*>& list) {
  std::vector<Attribute> out;
  for (auto* a : list) {
    const Span keyword = a->GLOBAL() != nullptr ? span(a->GLOBAL()) : span(a->attributeName());
    out.push_back({name_at(keyword), exprs(a->exprList()), span(a)});
  }
  return out;
}

std::optional<Attribute> ExprBuilder::registers(PkParser::RegistersContext* ctx) {
  if (ctx == nullptr) return std::nullopt;
  return Attribute{name(ctx->REGISTERS()), {expr(ctx->expr())}, span(ctx)};
}

std::optional<Attribute> ExprBuilder::collective(PkParser::CollectiveContext* ctx) {
  if (ctx == nullptr) return std::nullopt;
  Attribute a{name(ctx->COLLECTIVE()), {}, span(ctx)};
  for (auto* i : ctx->ident()) a.args.push_back(make(span(i), NameExpr{name(i)}));
  return a;
}

}  // namespace pk
