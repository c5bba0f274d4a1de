// One instance of a kernel: generics, dimensions, parameters, the launch region, the body.

#include "elaborator.h"
#include "pk/ir/ops.h"
#include "returns.h"
#include "suggest.h"

namespace pk::sema {
namespace {

ir::Mode lower_mode(ast::Mode mode) {
  switch (mode) {
    case ast::Mode::value:
      return ir::Mode::value;
    case ast::Mode::in:
      return ir::Mode::in;
    case ast::Mode::out:
      return ir::Mode::out;
    case ast::Mode::inout:
      return ir::Mode::inout;
  }
  return ir::Mode::in;
}

}  // namespace

void Elaborator::bind_kernel_generics(const ast::Kernel& kernel, const Bindings& bindings) {
  for (const ast::Generic& generic : kernel.generics) {
    const auto given = bindings.generics.find(generic.name.text);
    Val val = Val::nothing();
    if (given != bindings.generics.end()) {
      val = std::holds_alternative<std::int64_t>(given->second)
                ? Val::integer(Sym(std::get<std::int64_t>(given->second)))
                : Val::of_dtype(std::get<ir::Dtype>(given->second));
    } else if (generic.default_value.valid()) {
      val = expr(generic.default_value);
    }
    if (val.is(Val::Kind::none)) {
      if (is_int_generic(generic) && purpose_ == Purpose::check) {
        val = Val::integer(syms_.generic(generic.name.text));
      } else {
        error<diag::missing_generic>(generic.span, generic.name.text)
            .help(fmt::format("give it a value: `launch {}<…>(…)`, or a default", kernel.name.text));
        val = Val::poison();
      }
    }
    if (!val.poisoned() &&
        !check_generic_kind(generic, val,
                            generic.default_value.valid() ? span_of(generic.default_value) : generic.span))
      val = Val::poison();
    if (!val.poisoned()) {
      kernel_.bindings.emplace_back(std::string(generic.name.text), val.is(Val::Kind::dtype)
                                                                        ? std::string(ir::spelling(val.type.dtype))
                                                                        : syms_.print(val.sym));
    }
    declare(generic.name, std::move(val));
  }
}

// Bare names in the shapes of parameters declare run-time dimensions, unless they mean something already.
void Elaborator::collect_dims(const ast::Kernel& kernel, const Bindings& bindings) {
  const auto is_param = [&kernel](std::string_view name) {
    return std::any_of(kernel.params.begin(), kernel.params.end(),
                       [name](const ast::Param& p) { return p.name.text == name; });
  };
  struct Found {
    ast::Name name;
    bool bound = false;
  };
  std::vector<Found> found;
  for (const ast::Param& param : kernel.params) {
    if (!param.type.valid()) continue;
    for (const ast::ExprId dim : tree()[param.type].dims) {
      const auto* name = std::get_if<ast::NameExpr>(&node_of(dim).node);
      if (name == nullptr || find_local(name->name.text) != nullptr || is_param(name->name.text) ||
          module_.find(*file_, name->name.text))
        continue;
      auto known =
          std::find_if(found.begin(), found.end(), [name](const Found& f) { return f.name.text == name->name.text; });
      if (known == found.end()) known = found.insert(found.end(), {name->name, false});
      known->bound = known->bound || param.mode != ast::Mode::out;
    }
  }
  for (const Found& dim : found) {
    const std::string_view name = dim.name.text;
    if (const auto fixed = bindings.dims.find(name); fixed != bindings.dims.end()) {
      declare(dim.name, Val::integer(Sym(fixed->second), true));
      continue;
    }
    if (!dim.bound) unbound_dims_.push_back(dim.name);
    kernel_.dims.emplace_back(name);
    declare(dim.name, Val::integer(syms_.dim(name, static_cast<std::int64_t>(kernel_.dims.size() - 1)), true));
  }
}

Val Elaborator::kernel_param(const ast::Param& param, std::size_t number) {
  ir::Param lowered;
  lowered.name = std::string(param.name.text);
  lowered.mode = lower_mode(param.mode);
  lowered.span = param.name.span;
  const TypeUse use = type_use(param.type);
  Val val = Val::poison();
  const bool objects = use.ok && use.has_space && use.type.space != ir::Space::gmem;
  if (objects || !use.tuple.empty() || use.any_shape) {
    error<diag::bad_argument>(
        param.span,
        fmt::format("`{}`: the parameters of a kernel are scalars and global memory, `f32[M, N]`", param.name.text));
  } else if (use.ok && !use.brackets) {
    lowered.type = ir::Type::scalar(use.type.dtype);
    if (param.mode == ast::Mode::out || param.mode == ast::Mode::inout) {
      error<diag::bad_argument>(param.span,
                                fmt::format("`{}` is a scalar, which a kernel cannot write", param.name.text))
          .help(fmt::format("make it memory with one element: `{}[1]`", ir::spelling(use.type.dtype)));
    } else {
      lowered.mode = ir::Mode::value;
      val = Val::value({}, SemType::scalar(use.type.dtype));
    }
  } else if (use.ok) {
    SemType type = SemType::ref(ir::Space::gmem, use.type.dtype, use.type.shape);
    lowered.type = lower(type);
    for (const Sym& extent : type.shape) {
      ir::ParamDim dim;
      const auto atom = extent.single_atom();
      if (const auto c = extent.constant()) {
        dim = {ir::ParamDim::Kind::constant, *c};
      } else if (!syms_.is_runtime(extent)) {
        dim = {ir::ParamDim::Kind::constant, ir::unresolved_extent};
      } else if (atom && syms_.atom(*atom).kind == Atom::Kind::dim) {
        dim = {ir::ParamDim::Kind::symbol, syms_.atom(*atom).number};
      } else {
        dim = {ir::ParamDim::Kind::computed,
               static_cast<std::int64_t>(computed_dims_.size())};  // the axes are added later
        computed_dims_.emplace_back(number, extent);
      }
      lowered.dims.push_back(dim);
    }
    auto root = std::make_unique<RefRoot>();
    root->kind = RefRoot::Kind::param;
    root->name = lowered.name;
    root->span = param.name.span;
    root->mode = param.mode == ast::Mode::value ? ast::Mode::in : param.mode;
    val.kind = Val::Kind::ref;
    val.type = std::move(type);
    val.root = root.get();
    roots_.push_back(std::move(root));
    if (param.mode == ast::Mode::value) {
      error<diag::bad_argument>(param.span, fmt::format("`{}` says neither `in`, `out` nor `inout`", param.name.text))
          .help(fmt::format("write `in {}: …` for an input", param.name.text));
    }
  }
  kernel_.params.push_back(std::move(lowered));
  return val;
}

std::vector<Val> Elaborator::kernel_params(const ast::Kernel& kernel) {
  // Scalars of type `index` may be extents of others, so they are known before shapes are read.
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    const ast::Param& param = kernel.params[i];
    if (!param.type.valid()) continue;
    const ast::TypeExpr& type = tree()[param.type];
    if (type.base.text != "index" || type.brackets) continue;
    bindings_.push_back({param.name.text, param.name.span,
                         Val::integer(syms_.param(param.name.text, static_cast<std::int64_t>(i)), true), false});
  }
  std::vector<Val> vals;
  for (std::size_t i = 0; i < kernel.params.size(); ++i) vals.push_back(kernel_param(kernel.params[i], i));
  for (ir::Region* region : {&kernel_.launch, &kernel_.body}) {
    for (const ir::Param& param : kernel_.params) region->args.push_back(kernel_.new_value(param.type, param.name));
  }
  return vals;
}

// Names the parameters for the launch region or the body, whose region arguments they are.
void Elaborator::declare_params(const ast::Kernel& kernel, const std::vector<Val>& params, const ir::Region& region) {
  for (std::size_t i = 0; i < params.size(); ++i) {
    Val val = params[i];
    val.ir = region.args[i];
    if (val.is_scalar() && val.type.dtype == ir::Dtype::index) {
      val = Val::integer(syms_.param(kernel.params[i].name.text, static_cast<std::int64_t>(i)), true);
    }
    const ast::Name& name = kernel.params[i].name;
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      if (!name.present() || kernel.params[earlier].name.text != name.text || in_launch_) continue;
      error<diag::duplicate_name>(name.span, name.text).label(kernel.params[earlier].name.span, "first defined here");
      break;
    }
    bindings_.push_back({name.text, name.span, std::move(val), false});
  }
}

void Elaborator::where_clauses(const ast::Kernel& kernel) {
  for (const ast::ExprId clause : kernel.where) {
    const Val v = condition(clause);
    if (v.poisoned() || (v.is(Val::Kind::boolean) && v.flag)) continue;
    const std::string text = source_text(span_of(clause));
    if (v.is(Val::Kind::boolean)) {
      std::string values;
      for (const auto& [name, value] : kernel_.bindings) {
        if (text.find(name) != std::string::npos)
          values += fmt::format("{}{} = {}", values.empty() ? " for " : ", ", name, value);
      }
      error<diag::where_is_false>(span_of(clause), text, values);
      continue;
    }
    ir::Attrs attrs;
    attrs.set(ir::Attr::text, text);
    push(ir::Op::require, span_of(clause), {v.ir}, std::move(attrs));
  }
}

ir::Kernel Elaborator::elaborate_kernel(const ast::Kernel& kernel, const Bindings& bindings) {
  file_ = &module_.main();
  kernel_.name = std::string(kernel.name.text);
  kernel_.span = kernel.name.span;
  Frame frame;
  frame.early = contains_return(tree(), kernel.body);
  frames_.push_back(std::move(frame));
  const ScopeGuard scope(*this);
  bind_kernel_generics(kernel, bindings);
  collect_dims(kernel, bindings);
  std::vector<Val> params;
  {
    const ScopeGuard indices(*this);
    params = kernel_params(kernel);
  }
  {
    const RegionGuard region(*this, kernel_.launch.insts);
    in_launch_ = true;
    const ScopeGuard launch_scope(*this);
    declare_params(kernel, params, kernel_.launch);
    where_clauses(kernel);
    mesh(kernel);
    for (std::size_t i = 0; i < computed_dims_.size(); ++i)
      launch_yields_.push_back(materialise(computed_dims_[i].second, kernel.params[computed_dims_[i].first].span));
    push(ir::Op::yield, kernel.name.span, launch_yields_);
    in_launch_ = false;
  }
  for (ir::Param& param : kernel_.params) {
    for (ir::ParamDim& dim : param.dims) {
      if (dim.kind == ir::ParamDim::Kind::computed) dim.value += static_cast<std::int64_t>(kernel_.axes.size());
    }
  }
  {
    const RegionGuard region(*this, kernel_.body.insts);
    const ScopeGuard body_scope(*this);
    declare_params(kernel, params, kernel_.body);
    kernel_body(kernel);
  }
  frames_.pop_back();
  report_unbound_dims(kernel);
  return std::move(kernel_);
}

// Said last, and only if there is nothing else: a kernel with other mistakes is not about to be launched.
void Elaborator::report_unbound_dims(const ast::Kernel& kernel) {
  if (errors_ > 0) return;
  for (const ast::Name& dim : unbound_dims_) {
    error<diag::unbound_dimension>(dim.span, dim.text)
        .help(fmt::format("make it a parameter that the launch gives: `kernel {}<{}: int>(…)`, `launch {}<128>(…)`",
                          kernel.name.text, dim.text, kernel.name.text));
  }
}

void Elaborator::kernel_body(const ast::Kernel& kernel) {
  if (kernel.blocked) {
    blocked_kernel(kernel);
    return;
  }
  if (!frames_.back().early) {
    block(kernel.body);
    return;
  }
  ir::Region region;
  {
    const RegionGuard guard(*this, region.insts);
    block(kernel.body);
  }
  push(ir::Op::block, kernel.body.span).regions.push_back(std::move(region));
}

}  // namespace pk::sema
