// Functions are inlined: a call binds the parameters to its arguments and elaborates the body in place.

#include "elaborator.h"
#include "pk/ir/ops.h"
#include "returns.h"
#include "suggest.h"

namespace pk::sema {

Val* Elaborator::Deduction::find(std::string_view name) {
  for (auto& [known, val] : names) {
    if (known.text == name) return &val;
  }
  return nullptr;
}

namespace {

const ast::NameExpr* bare_name(const ast::Ast& tree, ast::ExprId id) {
  return std::get_if<ast::NameExpr>(&tree[id].node);
}

}  // namespace

Val Elaborator::call_function(const ItemRef& item, const ast::Call& node, Span span) {
  const auto& function = std::get<ast::Function>(item.item->node);
  for (const Frame& frame : frames_) {
    if (frame.function != &function) continue;
    error<diag::recursion>(span, function.name.text)
        .label(function.name.span, "defined here")
        .help("write it as a loop");
    return Val::poison();
  }
  inlined_.insert(&function);
  Signature signature{function.name.text, {}, function.params.size(), {}, false};
  for (const ast::Param& param : function.params) signature.params.push_back(param.name.text);
  const auto args = sort_args(node, signature, span);
  if (!args) return Val::poison();
  std::vector<Val> values;
  std::vector<Span> spans;
  bool ok = true;
  for (const ast::ExprId id : args->positional) {
    values.push_back(expr(id));
    spans.push_back(span_of(id));
    ok = ok && !values.back().poisoned();
  }
  Deduction found;
  for (const ast::Generic& generic : function.generics) found.names.emplace_back(generic.name, Val::nothing());
  ok = explicit_generics(function, node, found) && ok;
  if (!ok) return Val::poison();

  kernel_.calls.push_back({span, std::string(function.name.text), call_});
  const ir::CallId caller = call_;
  call_ = {static_cast<std::uint32_t>(kernel_.calls.size() - 1)};
  Val result = Val::poison();
  {
    const FrameGuard frame(*this, *item.file);
    // Typed arguments decide first; literals take what they decided.
    for (const bool literals : {false, true}) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i].is_untyped() == literals) ok = deduce_param(function.params[i], values[i], spans[i], found) && ok;
      }
    }
    ok = ok && settle_generics(function, found, span);
    std::optional<SymShape> any_shape;
    if (ok) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        Val bound = bind_param(function.params[i], values[i], spans[i], any_shape);
        ok = ok && !bound.poisoned();
        declare(function.params[i].name, std::move(bound));
      }
    }
    if (ok) {
      function_where(function);
      result = function_body(function, any_shape, span);
    }
  }
  call_ = caller;
  return result;
}

bool Elaborator::check_generic_kind(const ast::Generic& generic, const Val& val, Span span) {
  if (val.poisoned()) return false;
  if (is_int_generic(generic)) {
    if (val.is(Val::Kind::integer)) return true;
    error<diag::bad_generic>(span, fmt::format("`{}` is an integer; this is {}", generic.name.text, describe(val)))
        .label(generic.span, "declared here");
    return false;
  }
  if (!val.is(Val::Kind::dtype)) {
    error<diag::bad_generic>(span, fmt::format("`{}` is a type; this is {}", generic.name.text, describe(val)))
        .label(generic.span, "declared here");
    return false;
  }
  std::vector<std::string> allowed;
  for (const ast::Name& kind : generic.kinds) {
    if (kind.text == ir::spelling(val.type.dtype)) return true;
    allowed.emplace_back(kind.text);
  }
  error<diag::bad_generic>(span, fmt::format("`{}` may be {}, not `{}`", generic.name.text, quoted_list(allowed),
                                             ir::spelling(val.type.dtype)))
      .label(generic.span, "declared here");
  return false;
}

bool Elaborator::explicit_generics(const ast::Function& function, const ast::Call& node, Deduction& found) {
  std::size_t next = 0;
  bool ok = true;
  for (const ast::Arg& arg : node.generics) {
    std::size_t place = next;
    if (arg.name.present()) {
      place = 0;
      while (place < function.generics.size() && function.generics[place].name.text != arg.name.text) ++place;
    } else {
      ++next;
    }
    if (place >= function.generics.size()) {
      if (arg.name.present()) {
        error<diag::unknown_argument>(arg.name.span, function.name.text, arg.name.text);
      } else {
        error<diag::wrong_argument_count>(
            span_of(arg.value), fmt::format("`{}` has {} generic parameter{}", function.name.text,
                                            function.generics.size(), function.generics.size() == 1 ? "" : "s"));
      }
      ok = false;
      continue;
    }
    const Val v = expr(arg.value);
    if (!check_generic_kind(function.generics[place], v, span_of(arg.value))) {
      ok = false;
      continue;
    }
    found.names[place].second = v;
  }
  return ok;
}

// What one argument says about dtypes and extents.
bool Elaborator::deduce_param(const ast::Param& param, const Val& arg, Span arg_span, Deduction& found) {
  if (!param.type.valid()) return true;
  const ast::TypeExpr& type = tree()[param.type];
  if (Val* dtype = found.find(type.base.text); dtype != nullptr && dtype->is(Val::Kind::none)) {
    if (arg.is(Val::Kind::value) || arg.is(Val::Kind::ref)) *dtype = Val::of_dtype(arg.type.dtype);
    if (arg.is(Val::Kind::boolean)) *dtype = Val::of_dtype(ir::Dtype::boolean);
    if (arg.is(Val::Kind::axis) || arg.is(Val::Kind::integer)) *dtype = Val::of_dtype(ir::Dtype::index);
    if (arg.is(Val::Kind::real)) *dtype = Val::of_dtype(ir::Dtype::f32);
  }
  const bool shaped = (arg.is_tile() || arg.is(Val::Kind::ref)) && type.brackets && !type.any_shape;
  if (!shaped) return true;
  const SymShape& shape = arg.type.shape;
  if (shape.size() != type.dims.size()) {
    error<diag::shape_mismatch>(arg_span,
                                fmt::format("`{}` has {} {}, and this is {}", param.name.text, type.dims.size(),
                                            type.dims.size() == 1 ? "axis" : "axes", describe(arg)))
        .label(param.span, "declared here");
    return false;
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const ast::NameExpr* name = bare_name(tree(), type.dims[i]);
    if (name == nullptr) continue;
    Val* known = found.find(name->name.text);
    if (known == nullptr) {
      // Not a generic: a constant of the file, or a dimension that the signature declares by naming it.
      if (module_.find(*file_, name->name.text) || find_axis(name->name.text) != nullptr) continue;
      found.names.emplace_back(name->name, Val::nothing());
      known = &found.names.back().second;
    }
    if (known->is(Val::Kind::none)) *known = Val::integer(shape[i]);
  }
  return true;
}

// Fills in defaults, and declares the names in the callee's scope.
bool Elaborator::settle_generics(const ast::Function& function, Deduction& found, Span span) {
  for (std::size_t i = 0; i < found.names.size(); ++i) {
    auto& [name, val] = found.names[i];
    const ast::Generic* generic = i < function.generics.size() ? &function.generics[i] : nullptr;
    if (val.is(Val::Kind::none) && generic != nullptr && generic->default_value.valid())
      val = expr(generic->default_value);
    if (val.is(Val::Kind::none)) {
      error<diag::missing_generic>(span, name.text)
          .label(name.span, "declared here")
          .help(fmt::format("give it in the call: `{}<…>(…)`", function.name.text));
      return false;
    }
    if (generic != nullptr && !check_generic_kind(*generic, val, span)) return false;
    declare(name, val);
  }
  return true;
}

Val Elaborator::bind_param(const ast::Param& param, const Val& arg, Span arg_span, std::optional<SymShape>& any_shape) {
  const TypeUse use = type_use(param.type);
  if (!use.ok || arg.poisoned()) return Val::poison();
  if (use.has_space || (param.mode != ast::Mode::value && (use.brackets || use.any_shape)))
    return bind_ref_param(param, use, arg, arg_span);
  const Val given = rvalue(arg, arg_span);
  if (given.is(Val::Kind::integer) && use.type.is_scalar() && use.type.dtype == ir::Dtype::index)
    return Val::integer(given.sym, true);
  const Val value = adapt(given, use.type.dtype, arg_span);
  if (value.poisoned()) return value;
  if (use.any_shape) {
    if (value.is_scalar()) return value;
    if (!any_shape) any_shape = value.type.shape;
    if (equal(*any_shape, value.type.shape) != Truth::no) return value;
    error<diag::shape_mismatch>(arg_span, fmt::format("the arguments for `...` have one shape; these are {} and {}",
                                                      shape_text(*any_shape), shape_text(value.type.shape)))
        .label(param.span, "declared here");
    return Val::poison();
  }
  if (value.is_tile() != use.type.is_tile() || equal(value.type.shape, use.type.shape) == Truth::no) {
    error<diag::shape_mismatch>(arg_span, fmt::format("`{}` is `{}`, and this is `{}`", param.name.text,
                                                      type_text(use.type), type_text(value.type)))
        .label(param.span, "declared here");
    return Val::poison();
  }
  return value;
}

Val Elaborator::bind_ref_param(const ast::Param& param, const TypeUse& use, const Val& arg, Span arg_span) {
  if (!arg.is(Val::Kind::ref)) {
    error<diag::not_memory>(arg_span, fmt::format("`{}` is memory; this is {}", param.name.text, describe(arg)))
        .label(param.span, "declared here")
        .help("pass a ref: a parameter, an allocation, or a part of one, `r.at[…]`");
    return Val::poison();
  }
  const bool plain = arg.type.space == ir::Space::gmem || arg.type.space == ir::Space::smem;
  if (use.has_space ? arg.type.space != use.type.space : !plain) {
    error<diag::type_mismatch>(
        arg_span,
        fmt::format("`{}` lies in {}; this is {}", param.name.text,
                    use.has_space ? std::string(ir::spelling(use.type.space)) : "gmem or smem", describe(arg)))
        .label(param.span, "declared here");
    return Val::poison();
  }
  const bool has_elements = plain || arg.type.space == ir::Space::acc;
  if (has_elements && arg.type.dtype != use.type.dtype) {
    error<diag::type_mismatch>(arg_span, fmt::format("`{}` has elements of type `{}`, and this is {}", param.name.text,
                                                     ir::spelling(use.type.dtype), describe(arg)))
        .label(param.span, "declared here");
    return Val::poison();
  }
  if (!use.any_shape && equal(arg.type.shape, use.type.shape) == Truth::no) {
    error<diag::shape_mismatch>(arg_span, fmt::format("`{}` has the shape {}, and this is {}", param.name.text,
                                                      shape_text(use.type.shape), describe(arg)))
        .label(param.span, "declared here");
    return Val::poison();
  }
  if (param.mode == ast::Mode::out || param.mode == ast::Mode::inout) {
    for (const RefRoot* outer = arg.root; outer != nullptr; outer = outer->parent) {
      if (outer->mode != ast::Mode::in) continue;
      note_write(arg, arg_span);  // reports it where the caller can see it
      return Val::poison();
    }
  }
  auto root = std::make_unique<RefRoot>();
  root->kind = RefRoot::Kind::fn_param;
  root->name = std::string(param.name.text);
  root->span = param.name.span;
  root->mode = param.mode == ast::Mode::value ? ast::Mode::inout : param.mode;
  root->parent = arg.root;
  if (arg.root != nullptr) {
    root->tiled = arg.root->tiled;
    root->swizzle = arg.root->swizzle;
  }
  Val bound = arg;
  bound.root = root.get();
  roots_.push_back(std::move(root));
  return bound;
}

void Elaborator::function_where(const ast::Function& function) {
  for (const ast::ExprId clause : function.where) {
    const Val v = condition(clause);
    if (v.poisoned() || (v.is(Val::Kind::boolean) && v.flag)) continue;
    const std::string text = source_text(span_of(clause));
    if (v.is(Val::Kind::boolean)) {
      error<diag::where_is_false>(span_of(clause), text, " for this call");
      continue;
    }
    ir::Attrs attrs;
    attrs.set(ir::Attr::text, "where " + text);
    push(ir::Op::assert_, span_of(clause), {v.ir}, std::move(attrs));
  }
}

Val Elaborator::function_body(const ast::Function& function, const std::optional<SymShape>& any_shape, Span span) {
  Frame frame;
  frame.function = &function;
  frame.result = type_use(function.result);
  frame.any_shape = any_shape;
  frame.loop_base = loops_.size();
  frame.early = !returns_only_at_end(tree(), function.body);
  if (frame.early && function.result.valid() && frame.result.ok) {
    const std::vector<TypeUse> results =
        frame.result.tuple.empty() ? std::vector<TypeUse>{frame.result} : frame.result.tuple;
    for (const TypeUse& use : results) {
      SemType type = use.type;
      if (use.any_shape) type = any_shape ? SemType::tile(type.dtype, *any_shape) : SemType::scalar(type.dtype);
      const Val zero = type.dtype == ir::Dtype::boolean ? Val::boolean(false) : Val::integer(Sym(0));
      ir::Value init = adapt(zero, type.dtype, span).ir;
      if (type.is_tile()) init = emit(ir::Op::splat, span, {init}, lower(type));
      frame.cells.push_back(emit(ir::Op::var, span, {init}, ir::Type::cell(lower(type))));
    }
  }
  const bool early = frame.early;
  const bool ended_before = ended_;
  frames_.push_back(std::move(frame));
  ir::Region region;
  bool ended = false;
  const int errors_before = errors_;
  {
    std::optional<RegionGuard> guard;
    if (early) guard.emplace(*this, region.insts);
    block(function.body);
    ended = ended_;
  }
  ended_ = ended_before;
  const Frame done = std::move(frames_.back());
  frames_.pop_back();
  if (function.result.valid() && !ended && errors_ == errors_before) {
    error<diag::missing_return>(function.name.span, fmt::format("`{}` can end without a `return`", function.name.text));
    return Val::poison();
  }
  if (!early) return function.result.valid() ? done.returned : Val::nothing();
  push(ir::Op::block, span).regions.push_back(std::move(region));
  if (done.cells.empty()) return function.result.valid() ? Val::poison() : Val::nothing();
  Val result;
  result.kind = Val::Kind::tuple;
  const std::vector<TypeUse> results =
      done.result.tuple.empty() ? std::vector<TypeUse>{done.result} : done.result.tuple;
  for (std::size_t i = 0; i < done.cells.size(); ++i) {
    SemType type = results[i].type;
    if (results[i].any_shape) type = any_shape ? SemType::tile(type.dtype, *any_shape) : SemType::scalar(type.dtype);
    result.elements.push_back(Val::value(emit(ir::Op::var_get, span, {done.cells[i]}, lower(type)), type));
  }
  return done.result.tuple.empty() ? result.elements[0] : result;
}

Val Elaborator::convert_result(const Val& val, const TypeUse& type, Span span) {
  if (val.poisoned() || !type.ok) return Val::poison();
  if (!type.tuple.empty()) {
    if (!val.is(Val::Kind::tuple) || val.elements.size() != type.tuple.size()) {
      error<diag::type_mismatch>(
          span, fmt::format("the function returns a tuple of {}; this is {}", type.tuple.size(), describe(val)));
      return Val::poison();
    }
    Val result = val;
    for (std::size_t i = 0; i < type.tuple.size(); ++i) {
      result.elements[i] = convert_result(val.elements[i], type.tuple[i], span);
      if (result.elements[i].poisoned()) return Val::poison();
    }
    return result;
  }
  const bool is_index = type.type.is_scalar() && !type.any_shape && type.type.dtype == ir::Dtype::index;
  if (val.is(Val::Kind::integer) && is_index) return Val::integer(val.sym, true);
  const Val value = adapt(val, type.type.dtype, span);
  if (value.poisoned()) return value;
  SemType expected = type.type;
  if (type.any_shape) {
    const std::optional<SymShape>& shape = frames_.back().any_shape;
    expected = shape ? SemType::tile(expected.dtype, *shape) : SemType::scalar(expected.dtype);
  }
  if (expected.is_tile() && value.is_scalar() && type.any_shape)
    return Val::value(emit(ir::Op::splat, span, {value.ir}, lower(expected)), expected);
  if (value.is_tile() != expected.is_tile() || equal(value.type.shape, expected.shape) == Truth::no) {
    error<diag::shape_mismatch>(
        span, fmt::format("the function returns `{}`; this is `{}`", type_text(expected), type_text(value.type)));
    return Val::poison();
  }
  return value;
}

void Elaborator::store_result(const Val& val, Span span) {
  const std::vector<Val> parts = val.is(Val::Kind::tuple) ? val.elements : std::vector<Val>{val};
  const Frame& frame = frames_.back();
  for (std::size_t i = 0; i < parts.size() && i < frame.cells.size(); ++i) {
    const Val value = parts[i].is(Val::Kind::value) ? parts[i] : fix_type(parts[i], span);
    if (value.is(Val::Kind::value)) push(ir::Op::var_set, span, {frame.cells[i], value.ir});
  }
}

void Elaborator::return_statement(const ast::Return& node, Span span) {
  for (std::size_t i = frames_.back().loop_base; i < loops_.size(); ++i) {
    if (loops_[i] != Loop::barrier) continue;
    error<diag::misplaced_statement>(span, "`return` cannot leave a pipeline: it runs all its steps");
    return;
  }
  const bool in_kernel = frames_.back().function == nullptr;
  const bool has_result = !in_kernel && frames_.back().function->result.valid();
  if (node.value.valid() && !has_result) {
    (void)value_expr(node.value);
    error<diag::type_mismatch>(span_of(node.value), in_kernel
                                                        ? "a kernel returns nothing: its results go to `out` parameters"
                                                        : "the function declares no result")
        .help(in_kernel ? "store the value to an output" : "declare one: `fn f(…) -> f32[N]`");
    return;
  }
  if (!node.value.valid() && has_result) {
    error<diag::missing_return>(
        span, fmt::format("`{}` returns a value, and this `return` has none", frames_.back().function->name.text));
    return;
  }
  Val value = Val::nothing();
  if (node.value.valid())
    value = convert_result(value_expr(node.value, frames_.back().result.type.dtype), frames_.back().result,
                           span_of(node.value));
  ended_ = true;
  if (!frames_.back().early) {
    frames_.back().returned = value;
    return;
  }
  if (node.value.valid() && !value.poisoned()) store_result(value, span);
  push(ir::Op::exit_block, span);
}

// A function that no kernel calls: its parameters are made up, with symbolic extents.
void Elaborator::check_function(const ItemRef& item) {
  const auto& function = std::get<ast::Function>(item.item->node);
  ir::Region body;
  const RegionGuard region(*this, body.insts);
  const FrameGuard frame(*this, *item.file);
  frames_.push_back({});
  checking_function_ = true;
  kernel_.name = std::string(function.name.text);
  Deduction found;
  for (const ast::Generic& generic : function.generics) {
    const bool is_dtype = !is_int_generic(generic);
    const auto dtype = is_dtype && !generic.kinds.empty() ? dtype_named(generic.kinds[0]) : std::nullopt;
    if (is_dtype && !dtype) {
      declare(generic.name, Val::poison());
      continue;
    }
    declare(generic.name, is_dtype ? Val::of_dtype(*dtype) : Val::integer(syms_.generic(generic.name.text)));
  }
  for (const ast::Param& param : function.params) {
    if (!param.type.valid()) continue;
    for (const ast::ExprId dim : tree()[param.type].dims) {
      const ast::NameExpr* name = bare_name(tree(), dim);
      if (name == nullptr || find_local(name->name.text) != nullptr || module_.find(*file_, name->name.text)) continue;
      declare(name->name, Val::integer(syms_.generic(name->name.text)));
    }
  }
  std::optional<SymShape> any_shape;
  for (const ast::Param& param : function.params) {
    const TypeUse use = type_use(param.type);
    Val val = Val::poison();
    if (use.ok && (use.has_space || (param.mode != ast::Mode::value && use.brackets))) {
      Val ref;
      ref.kind = Val::Kind::ref;
      ref.type = SemType::ref(use.has_space ? use.type.space : ir::Space::gmem, use.type.dtype, use.type.shape);
      ref.ir = new_value(ref.type, param.name.text);
      val = bind_ref_param(param, use, ref, param.span);
    } else if (use.ok) {
      SemType type = use.type;
      if (use.any_shape) {
        if (!any_shape) any_shape = SymShape{syms_.generic("…")};
        type = SemType::tile(type.dtype, *any_shape);
      }
      val = Val::value(new_value(type, param.name.text), type);
    }
    declare(param.name, std::move(val));
  }
  for (const ast::ExprId clause : function.where) (void)condition(clause);
  (void)function_body(function, any_shape, function.name.span);
  frames_.pop_back();
}

}  // namespace pk::sema
