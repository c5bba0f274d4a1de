// Calls: who is called, and which argument goes where.

#include <cmath>

#include "builtins.h"
#include "elaborator.h"
#include "pk/ir/ops.h"
#include "suggest.h"

namespace pk::sema {

/// `fast(x / y)`: the expression form of a `fast { … }` block.
static constexpr std::string_view approximate_form = "fast";

ast::ExprId SortedArgs::option(std::string_view name) const {
  for (const auto& [key, value] : options) {
    if (key == name) return value;
  }
  return {};
}

Val Elaborator::call(const ast::Call& node, Span span) {
  const ast::Expr& callee = node_of(node.callee);
  if (const auto* m = std::get_if<ast::Member>(&callee.node)) return call_member(*m, node, span);
  const auto* name_node = std::get_if<ast::NameExpr>(&callee.node);
  if (name_node == nullptr) {
    error<diag::wrong_kind_of_name>(callee.span, source_text(callee.span), "not a function", "a function");
    return Val::poison();
  }
  const ast::Name& name = name_node->name;
  if (const Binding* local = find_local(name.text)) {
    if (!local->val.poisoned()) {
      error<diag::wrong_kind_of_name>(name.span, name.text, "not a function", "a function")
          .label(local->span, "defined here");
    }
    return Val::poison();
  }
  if (const ItemRef item = module_.find(*file_, name.text)) return call_item(item, node, span);
  if (name.text == approximate_form && node.args.size() == 1 && !node.args[0].name.present()) {
    ++fast_;
    Val v = value_expr(node.args[0].value);
    --fast_;
    return v;
  }
  if (const auto builtin = find_callable(name.text)) return call_builtin(builtin->op, builtin->name, node, span);
  if (is_planned_operation(name.text)) {
    error<diag::needs_target>(name.span, name.text, planned_operation_needs(name.text));
    return Val::poison();
  }
  if (ir::parse_dtype(name.text)) {
    error<diag::unknown_function>(name.span, name.text).help(fmt::format("convert with `x as {}`", name.text));
    return Val::poison();
  }
  auto builder = error<diag::unknown_function>(name.span, name.text);
  if (is_test_only(name.text)) {
    builder.note(fmt::format("`{}` stands in `test` items, which run on the host", name.text));
  } else {
    std::vector<std::string> candidates = callable_names();
    for (const auto& [item, unused] : file_->items) candidates.emplace_back(item);
    for (const ModuleFile* import : file_->imports) {
      for (const auto& [item, unused] : import->items) candidates.emplace_back(item);
    }
    std::sort(candidates.begin(), candidates.end());
    if (const auto near = closest(name.text, candidates)) builder.help(fmt::format("did you mean `{}`?", *near));
  }
  for (const ast::Arg& arg : node.args) {
    if (!arg.name.present()) (void)expr(arg.value);
  }
  return Val::poison();
}

Val Elaborator::call_item(const ItemRef& item, const ast::Call& node, Span span) {
  if (std::holds_alternative<ast::Function>(item.item->node)) return call_function(item, node, span);
  const ast::Name name = item_name_token(*item.item);
  std::string_view what = "a constant";
  if (std::holds_alternative<ast::Kernel>(item.item->node)) what = "a kernel";
  if (std::holds_alternative<ast::MeshItem>(item.item->node)) what = "a mesh";
  auto builder = error<diag::wrong_kind_of_name>(span_of(node.callee), name.text, what, "a function");
  builder.label(name.span, "defined here");
  if (std::holds_alternative<ast::Kernel>(item.item->node))
    builder.help("kernels are started by `launch` in a `test` item or by the host; share code through a `fn`");
  return Val::poison();
}

Val Elaborator::call_member(const ast::Member& callee, const ast::Call& node, Span span) {
  const std::string path = source_text(span_of(callee.base));
  if (const ModuleFile* import = module_.find_import(*file_, path)) {
    if (const ItemRef item = module_.find(*import, callee.name.text)) return call_item(item, node, span);
    std::vector<std::string> candidates;
    for (const auto& [name, item] : import->items) candidates.emplace_back(name);
    auto builder = error<diag::unknown_function>(callee.name.span, callee.name.text);
    builder.note(fmt::format("the module `{}` has no such function", import->name));
    if (const auto near = closest(callee.name.text, candidates)) builder.help(fmt::format("did you mean `{}`?", *near));
    return Val::poison();
  }
  if (callee.name.text == "load") {
    const Val base = expr(callee.base);
    if (base.poisoned()) return base;
    if (base.is(Val::Kind::ref) && base.type.space == ir::Space::acc) return call_acc_load(base, node, span);
    error<diag::bad_argument>(span, fmt::format("`.load(wait = n)` reads an accumulator; {} is none", describe(base)))
        .help("read memory with `r[...]`");
    return Val::poison();
  }
  error<diag::unknown_function>(callee.name.span, fmt::format("{}.{}", path, callee.name.text))
      .note(fmt::format("`{}` is no imported module", path));
  return Val::poison();
}

std::string Elaborator::option_word(ast::ExprId id) const {
  if (!id.valid()) return {};
  const ast::Expr& node = node_of(id);
  if (const auto* name = std::get_if<ast::NameExpr>(&node.node)) return std::string(name->name.text);
  if (const auto* number = std::get_if<ast::FloatLiteral>(&node.node); number != nullptr && std::isnan(number->value))
    return "nan";
  if (const auto* c = std::get_if<ast::Call>(&node.node); c != nullptr && c->args.size() == 1)
    return option_word(c->args[0].value);
  return {};
}

std::optional<SortedArgs> Elaborator::sort_args(const ast::Call& node, const Signature& signature, Span span) {
  SortedArgs sorted;
  sorted.positional.resize(signature.params.size());
  bool ok = true;
  std::size_t next = 0;
  const auto is_option = [&](std::string_view name) {
    return std::find(signature.options.begin(), signature.options.end(), name) != signature.options.end();
  };
  // `read_only` and `oob(zero)` are options without `name =`.
  const auto bare_option = [&](ast::ExprId id) -> std::string_view {
    const ast::Expr& e = node_of(id);
    if (const auto* name = std::get_if<ast::NameExpr>(&e.node); name != nullptr && is_option(name->name.text))
      return name->name.text;
    if (const auto* c = std::get_if<ast::Call>(&e.node)) {
      const auto* name = std::get_if<ast::NameExpr>(&node_of(c->callee).node);
      if (name != nullptr && is_option(name->name.text)) return name->name.text;
    }
    return {};
  };
  for (const ast::Arg& arg : node.args) {
    const std::string_view bare = arg.name.present() ? std::string_view() : bare_option(arg.value);
    const std::string_view option = arg.name.present() ? arg.name.text : bare;
    if (!option.empty() && is_option(option)) {
      if (sorted.option(option).valid()) {
        error<diag::unknown_option>(span_of(arg.value), fmt::format("`{}` is given twice", option));
        ok = false;
      }
      sorted.options.emplace_back(option, arg.value);
      continue;
    }
    if (arg.name.present()) {
      const auto place = std::find(signature.params.begin(), signature.params.end(), arg.name.text);
      if (place == signature.params.end()) {
        std::vector<std::string> known(signature.params.begin(), signature.params.end());
        known.insert(known.end(), signature.options.begin(), signature.options.end());
        auto builder = error<diag::unknown_argument>(arg.name.span, signature.callee, arg.name.text);
        if (const auto near = closest(arg.name.text, known)) builder.help(fmt::format("did you mean `{}`?", *near));
        if (!known.empty()) builder.note(fmt::format("it takes {}", quoted_list(known)));
        ok = false;
        continue;
      }
      sorted.positional[static_cast<std::size_t>(place - signature.params.begin())] = arg.value;
      continue;
    }
    while (next < sorted.positional.size() && sorted.positional[next].valid()) ++next;
    if (next < sorted.positional.size()) {
      sorted.positional[next++] = arg.value;
    } else if (signature.any_number) {
      sorted.rest.push_back(arg.value);
    } else {
      error<diag::wrong_argument_count>(
          span_of(arg.value), fmt::format("`{}` takes {} argument{}, not {}", signature.callee, signature.params.size(),
                                          signature.params.size() == 1 ? "" : "s", node.args.size()));
      return std::nullopt;
    }
  }
  if (!ok) return std::nullopt;
  for (std::size_t i = 0; i < signature.required; ++i) {
    if (sorted.positional[i].valid()) continue;
    const std::vector<std::string> names(signature.params.begin(), signature.params.end());
    error<diag::wrong_argument_count>(
        span, fmt::format("`{}` needs the argument `{}`", signature.callee, signature.params[i]))
        .note(fmt::format("it takes {}", quoted_list(names)));
    return std::nullopt;
  }
  return sorted;
}

Val Elaborator::call_builtin(ir::Op op, std::string_view name, const ast::Call& node, Span span) {
  if (target_.sm < ir::info(op).since) {
    error<diag::needs_target>(span, name, fmt::format("sm_{} (this is {})", ir::info(op).since, target_.name));
  }
  if (!node.generics.empty()) {
    error<diag::bad_generic>(span, fmt::format("`{}` takes no generic arguments", name));
    return Val::poison();
  }
  // The operations that are more than elementwise, each with the function that knows its arguments.
  using Rule = Val (Elaborator::*)(const ast::Call&, Span);
  using NamedRule = Val (Elaborator::*)(std::string_view, const ast::Call&, Span);
  using OpRule = Val (Elaborator::*)(ir::Op, std::string_view, const ast::Call&, Span);
  struct Entry {
    ir::Op op;
    std::variant<Rule, NamedRule, OpRule> rule;
  };
  static const Entry entries[] = {
      {ir::Op::cumsum, &Elaborator::call_cumsum},
      {ir::Op::iota, &Elaborator::call_iota},
      {ir::Op::axis_size, &Elaborator::call_size},
      {ir::Op::coord, &Elaborator::call_index},
      {ir::Op::bitcast, &Elaborator::call_bitcast},
      {ir::Op::broadcast, &Elaborator::call_broadcast},
      {ir::Op::reshape, &Elaborator::call_reshape},
      {ir::Op::transpose, &Elaborator::call_transpose},
      {ir::Op::concat, &Elaborator::call_concat},
      {ir::Op::layout_cast, &Elaborator::call_layout_cast},
      {ir::Op::load_masked, &Elaborator::call_load},
      {ir::Op::store_masked, &Elaborator::call_store},
      {ir::Op::copy_gmem_to_smem, &Elaborator::call_copy_in},
      {ir::Op::copy_smem_to_gmem, &Elaborator::call_copy_out},
      {ir::Op::wait_smem_to_gmem, &Elaborator::call_wait_copies},
      {ir::Op::prefetch, &Elaborator::call_prefetch},
      {ir::Op::async_store, &Elaborator::call_async_store},
      {ir::Op::sync, &Elaborator::call_sync},
      {ir::Op::wgmma, &Elaborator::call_wgmma},
      {ir::Op::wgmma_wait, &Elaborator::call_wgmma_wait},
      {ir::Op::dot, &Elaborator::call_dot},
      {ir::Op::print, &Elaborator::call_print},
      {ir::Op::trap, &Elaborator::call_trap},
      {ir::Op::splat, &Elaborator::call_full},
      {ir::Op::atomic, &Elaborator::call_atomic},
      {ir::Op::min, &Elaborator::call_minmax},
      {ir::Op::max, &Elaborator::call_minmax},
      {ir::Op::reduce_sum, &Elaborator::call_reduction},
      {ir::Op::reduce_prod, &Elaborator::call_reduction},
      {ir::Op::reduce_any, &Elaborator::call_reduction},
      {ir::Op::reduce_all, &Elaborator::call_reduction},
      {ir::Op::barrier_arrive, &Elaborator::call_barrier},
      {ir::Op::barrier_wait, &Elaborator::call_barrier},
      {ir::Op::barrier_test, &Elaborator::call_barrier},
      {ir::Op::semaphore_signal, &Elaborator::call_semaphore},
      {ir::Op::semaphore_wait, &Elaborator::call_semaphore},
      {ir::Op::semaphore_read, &Elaborator::call_semaphore},
      {ir::Op::assert_, &Elaborator::call_assert},
      {ir::Op::assume, &Elaborator::call_assert},
      {ir::Op::commit_copies, &Elaborator::call_plain},
      {ir::Op::commit_smem, &Elaborator::call_plain},
      {ir::Op::launch_dependents, &Elaborator::call_plain},
      {ir::Op::wait_for_prior_kernels, &Elaborator::call_plain},
  };
  for (const Entry& entry : entries) {
    if (entry.op != op) continue;
    if (const auto* rule = std::get_if<Rule>(&entry.rule)) return (this->**rule)(node, span);
    if (const auto* rule = std::get_if<NamedRule>(&entry.rule)) return (this->**rule)(name, node, span);
    return (this->*std::get<OpRule>(entry.rule))(op, name, node, span);
  }
  PK_CHECK(ir::is_elementwise(op), "an operation of the table that can be called has a meaning in sema");
  return call_elementwise(op, name, node, span);
}

Val Elaborator::call_plain(ir::Op op, std::string_view name, const ast::Call& node, Span span) {
  if (!sort_args(node, {name, {}, 0, {}, false}, span)) return Val::poison();
  push(op, span);
  if (op == ir::Op::wait_for_prior_kernels) note_wait();
  return Val::nothing();
}

}  // namespace pk::sema
