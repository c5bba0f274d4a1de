// Calls: who is called, and which argument goes where.

#include "builtins.h"
#include "elaborator.h"
#include "pk/ir/ops.h"
#include "suggest.h"

namespace pk::sema {

ast::ExprId SortedArgs::option(std::string_view name) const {
  for (const auto& [key, value] : options) {
    if (key == name) return value;
  }
  return {};
}

Val Elaborator::call(const ast::Call& node, Span span) {
  const ast::Expr& callee = tree()[node.callee];
  if (const auto* m = std::get_if<ast::Member>(&callee.node)) return call_member(*m, node, span);
  const auto* name_node = std::get_if<ast::NameExpr>(&callee.node);
  if (name_node == nullptr) {
    error<diag::wrong_kind_of_name>(callee.span, source_text(callee.span), "not a function", "a function");
    return Val::poison();
  }
  const ast::Name& name = name_node->name;
  if (const Binding* local = find_local(name.text)) {
    if (!local->val.poisoned()) {
      error<diag::wrong_kind_of_name>(name.span, name.text, "not a function", "a function").label(local->span, "defined here");
    }
    return Val::poison();
  }
  if (const ItemRef item = module_.find(*file_, name.text)) return call_item(item, node, span);
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
  if (std::holds_alternative<ast::Kernel>(item.item->node)) builder.help("kernels are started by `launch` in a `test` item or by the host; share code through a `fn`");
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
  const ast::Expr& node = tree()[id];
  if (const auto* name = std::get_if<ast::NameExpr>(&node.node)) return std::string(name->name.text);
  if (const auto* c = std::get_if<ast::Call>(&node.node); c != nullptr && c->args.size() == 1) return option_word(c->args[0].value);
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
    const ast::Expr& e = tree()[id];
    if (const auto* name = std::get_if<ast::NameExpr>(&e.node); name != nullptr && is_option(name->name.text)) return name->name.text;
    if (const auto* c = std::get_if<ast::Call>(&e.node)) {
      const auto* name = std::get_if<ast::NameExpr>(&tree()[c->callee].node);
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
      error<diag::wrong_argument_count>(span_of(arg.value), fmt::format("`{}` takes {} argument{}, not {}", signature.callee, signature.params.size(),
                                                                        signature.params.size() == 1 ? "" : "s", node.args.size()));
      return std::nullopt;
    }
  }
  for (std::size_t i = 0; i < signature.required; ++i) {
    if (sorted.positional[i].valid()) continue;
    const std::vector<std::string> names(signature.params.begin(), signature.params.end());
    error<diag::wrong_argument_count>(span, fmt::format("`{}` needs the argument `{}`", signature.callee, signature.params[i]))
        .note(fmt::format("it takes {}", quoted_list(names)));
    return std::nullopt;
  }
  return ok ? std::optional(std::move(sorted)) : std::nullopt;
}

Val Elaborator::call_builtin(ir::Op op, std::string_view name, const ast::Call& node, Span span) {
  if (target_.sm < ir::info(op).since) {
    error<diag::needs_target>(span, name, fmt::format("sm_{} (this is {})", ir::info(op).since, target_.name));
  }
  if (!node.generics.empty()) {
    error<diag::bad_generic>(span, fmt::format("`{}` takes no generic arguments", name));
    return Val::poison();
  }
  switch (op) {
    case ir::Op::min:
    case ir::Op::max: return call_minmax(op, name, node, span);
    case ir::Op::reduce_sum:
    case ir::Op::reduce_prod:
    case ir::Op::reduce_any:
    case ir::Op::reduce_all: return call_reduction(op, name, node, span);
    case ir::Op::cumsum: return call_cumsum(node, span);
    case ir::Op::splat: return call_full(name, node, span);
    case ir::Op::iota: return call_iota(node, span);
    case ir::Op::axis_size: return call_size(node, span);
    case ir::Op::coord: return call_index(node, span);
    case ir::Op::bitcast: return call_bitcast(node, span);
    case ir::Op::broadcast: return call_broadcast(node, span);
    case ir::Op::reshape: return call_reshape(node, span);
    case ir::Op::transpose: return call_transpose(node, span);
    case ir::Op::concat: return call_concat(node, span);
    case ir::Op::layout_cast: return call_layout_cast(node, span);
    case ir::Op::load_masked: return call_load(node, span);
    case ir::Op::store_masked: return call_store(node, span);
    case ir::Op::atomic: return call_atomic(name, node, span);
    case ir::Op::copy_gmem_to_smem: return call_copy_in(node, span);
    case ir::Op::copy_smem_to_gmem: return call_copy_out(node, span);
    case ir::Op::wait_smem_to_gmem: return call_wait_copies(node, span);
    case ir::Op::prefetch: return call_prefetch(node, span);
    case ir::Op::async_store: return call_async_store(node, span);
    case ir::Op::barrier_arrive:
    case ir::Op::barrier_wait:
    case ir::Op::barrier_test: return call_barrier(op, name, node, span);
    case ir::Op::semaphore_signal:
    case ir::Op::semaphore_wait:
    case ir::Op::semaphore_read: return call_semaphore(op, name, node, span);
    case ir::Op::sync: return call_sync(node, span);
    case ir::Op::wgmma: return call_wgmma(node, span);
    case ir::Op::wgmma_wait: return call_wgmma_wait(node, span);
    case ir::Op::dot: return call_dot(node, span);
    case ir::Op::print: return call_print(node, span);
    case ir::Op::assert_:
    case ir::Op::assume: return call_assert(op, name, node, span);
    case ir::Op::trap: return call_trap(node, span);
    case ir::Op::commit_copies:
    case ir::Op::commit_smem:
    case ir::Op::launch_dependents:
    case ir::Op::wait_for_prior_kernels: return call_plain(op, name, node, span);
    default: break;  // the elementwise operations, which the table describes completely
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
