#include "ast_builder.h"

#include "expr_builder.h"

namespace pk {
namespace {

using grammar::PkParser;
using namespace ast;

/// Longest `else if` chain that later recursive walks have to face.
constexpr int max_else_ifs = 200;

std::optional<BinaryOp> assigned_op(std::size_t token) {
  switch (token) {
    case PkParser::PLUS_ASSIGN:
      return BinaryOp::add;
    case PkParser::MINUS_ASSIGN:
      return BinaryOp::sub;
    case PkParser::STAR_ASSIGN:
      return BinaryOp::mul;
    case PkParser::SLASH_ASSIGN:
      return BinaryOp::div;
    case PkParser::PERCENT_ASSIGN:
      return BinaryOp::rem;
    case PkParser::SHL_ASSIGN:
      return BinaryOp::shl;
    case PkParser::SHR_ASSIGN:
      return BinaryOp::shr;
    case PkParser::AND_ASSIGN:
      return BinaryOp::bit_and;
    case PkParser::OR_ASSIGN:
      return BinaryOp::bit_or;
    case PkParser::XOR_ASSIGN:
      return BinaryOp::bit_xor;
    default:
      return std::nullopt;
  }
}

/// Builds one item.
class Builder : private ExprBuilder {
 public:
  using ExprBuilder::ExprBuilder;

  void item(PkParser::ItemContext& ctx, std::string doc) {
    Item item;
    item.span = span(&ctx);
    item.doc = std::move(doc);
    item.broken = broken_;
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
 private:
  // ---- items

  Const constant(PkParser::ConstDeclContext* ctx) {
    return {name(ctx->ident()), optional_type(ctx->type()), expr(ctx->expr())};
  }
  std::vector<Axis> axes(const std::vector<PkParser::AxisContext*>& list) {
    std::vector<Axis> out;
    for (auto* a : list) {
      Axis axis;
      auto* kind = a->axisKind();
      axis.kind = kind != nullptr && kind->CLUSTER() != nullptr ? Axis::Kind::cluster
                  : kind != nullptr && kind->WG() != nullptr    ? Axis::Kind::wg
                                                                : Axis::Kind::grid;
      axis.name = a->ident() == nullptr ? Name{{}, {tree_.file, span(kind).end, span(kind).end}} : name(a->ident());
      if (a->expr() != nullptr) axis.size = expr(a->expr());
      axis.nonportable = a->NONPORTABLE() != nullptr;
      axis.span = span(a);
      out.push_back(axis);
    }
    return out;
  }
  MeshItem mesh_item(PkParser::MeshDeclContext* ctx) {
    MeshItem item{name(ctx->ident()), {}, axes(ctx->axis())};
    for (auto* p :
         ctx->meshParams() == nullptr ? std::vector<PkParser::MeshParamContext*>{} : ctx->meshParams()->meshParam()) {
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
      if (g->sum() != nullptr) generic.default_value = sum(g->sum());
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
      f.params.push_back(
          {mode(p->dirMode()), name(p->ident()), type(p->type()), attributes(p->attribute()), std::nullopt, span(p)});
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
      for (auto* a : b->blockedAxis())
        grid.axes.push_back({name(a->ident()), a->SEQUENTIAL() != nullptr, expr(a->expr()), span(a)});
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
    if (auto* c = dynamic_cast<PkParser::IfStmtContext*>(ctx)) return if_chain(c);
    if (auto* c = dynamic_cast<PkParser::ForStmtContext*>(ctx)) {
      const auto e = c->expr();
      For loop{c->UNROLL() != nullptr, name(c->ident()), expr(c->expr(0)), expr(c->expr(1)), {}, block(c->block())};
      if (e.size() > 2) loop.step = expr(e[2]);
      return tree_.add(Stmt{s, std::move(loop)});
    }
    if (auto* c = dynamic_cast<PkParser::WhileStmtContext*>(ctx))
      return tree_.add(Stmt{s, While{expr(c->expr()), block(c->block())}});
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
    if (auto* c = dynamic_cast<PkParser::BlockStmtContext*>(ctx))
      return tree_.add(Stmt{s, BlockStmt{block(c->block())}});
    if (auto* c = dynamic_cast<PkParser::ExprStmtContext*>(ctx)) {
      const auto parts = c->expr();
      const ExprId first = parts.empty() ? expr(nullptr) : expr(parts[0]);
      if (c->assignOp() == nullptr) return tree_.add(Stmt{s, ExprStmt{first}});
      const Span op_span = span(c->assignOp());
      return tree_.add(Stmt{s, Assign{first, assigned_op(c->assignOp()->getStart()->getType()), op_span,
                                      expr(parts.size() > 1 ? parts[1] : nullptr)}});
    }
    return tree_.add(Stmt{s, ErrorStmt{}});
  }
  /// `if … else if … else …`: each `else if` becomes an If alone in an else block.
  StmtId if_chain(PkParser::IfStmtContext* ctx) {
    const Span whole = span(ctx);
    const auto elses = ctx->elsePart();
    if (elses.size() > static_cast<std::size_t>(max_else_ifs)) {
      diags_.report<diag::nested_too_deeply>(span(elses[max_else_ifs]), max_else_ifs);
      return tree_.add(Stmt{whole, ErrorStmt{}});
    }
    std::vector<If> parts;
    parts.push_back({expr(ctx->expr()), block(ctx->block()), std::nullopt});
    for (auto* e : elses) {
      if (parts.back().otherwise) {
        diags_.report<diag::syntax_error>(span(e->ELSE()), "this `else` comes after the last one")
            .help("an `else` without `if` ends the chain");
        break;
      }
      if (e->IF() != nullptr) {
        parts.push_back({expr(e->expr()), block(e->block()), std::nullopt});
      } else {
        parts.back().otherwise = block(e->block());
      }
    }
    for (std::size_t i = parts.size() - 1; i > 0; --i) {
      const Span s{whole.file, span(elses[i - 1]->IF()).begin, whole.end};
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
      for (auto* range : r->pipeRange()) bounds.emplace_back(expr(range->expr(0)), expr(range->expr(1)));
      if (bounds.size() != variables.size() && !broken_) {
        diags_
            .report<diag::syntax_error>(span(r),
                                        fmt::format("{} loop variables for {} ranges", variables.size(), bounds.size()))
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
      p.transfers.push_back(
          {t->STORE() != nullptr, name(t->ident()), expr(t->expr()), attributes(t->attribute()), span(t)});
    }
    p.compute_form = ctx->COMPUTE() != nullptr;
    p.body = block(ctx->block());
    return tree_.add(Stmt{span(ctx), std::move(p)});
  }
};

}  // namespace

void build_item(const Sources& sources, Ast& tree, PkParser::ItemContext& item, std::string doc, bool broken,
                Diagnostics& diags) {
  Builder(sources, tree, broken, diags).item(item, std::move(doc));
}

}  // namespace pk
