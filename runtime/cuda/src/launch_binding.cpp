#include "launch_binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "pk/ir/numerics.h"
#include "pk/runtime/launch_region.h"

namespace pk::cuda {
namespace {

using Kind = ir::ParamDim::Kind;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Whether `name` stands in `text` as a word of its own.
bool mentions(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const bool begins = at == 0 || !is_word(text[at - 1]);
    const bool ends = at + name.size() == text.size() || !is_word(text[at + name.size()]);
    if (begins && ends) return true;
  }
  return false;
}

class Binder {
 public:
  Binder(const ir::Kernel& kernel, const std::vector<interp::Argument>& args, Span span, Diagnostics& diags)
      : kernel_(kernel), args_(args), span_(span), diags_(diags) {}

  std::optional<Binding> bind() {
    if (!bind_dims() || !run_launch_region() || !check_computed() || !check_overlap() || !size_grid())
      return std::nullopt;
    return std::move(binding_);
  }

 private:
  DiagnosticBuilder fail(const std::string& message) { return diags_.report<diag::run_launch>(span_, message); }

  bool bind_dims() {
    if (args_.size() != kernel_.params.size()) {
      fail(fmt::format("`{}` has {} parameters, but the launch gives {} arguments", kernel_.name, kernel_.params.size(),
                       args_.size()));
      return false;
    }
    binding_.dims.assign(kernel_.dims.size(), -1);
    for (std::size_t i = 0; i < args_.size(); ++i) {
      const ir::Param& param = kernel_.params[i];
      if (param.type.is_scalar()) continue;
      if (args_[i].shape.size() != param.dims.size()) {
        fail(fmt::format("`{}` has {} axes, but its argument has {}", param.name, param.dims.size(),
                         args_[i].shape.size()))
            .label(param.span, "the parameter");
        return false;
      }
      for (std::size_t axis = 0; axis < param.dims.size(); ++axis) {
        if (!bind_axis(param, axis, args_[i].shape[axis])) return false;
      }
    }
    return true;
  }

  bool bind_axis(const ir::Param& param, std::size_t axis, std::int64_t actual) {
    const ir::ParamDim& dim = param.dims[axis];
    std::int64_t expected = dim.value;
    if (dim.kind == Kind::computed) return true;
    if (dim.kind == Kind::symbol) {
      std::int64_t& bound = binding_.dims[static_cast<std::size_t>(dim.value)];
      if (bound < 0) bound = actual;
      expected = bound;
    }
    if (actual == expected) return true;
    const std::string name = dim.kind == Kind::symbol
                                 ? fmt::format(", which is `{}`", kernel_.dims[static_cast<std::size_t>(dim.value)])
                                 : std::string();
    fail(fmt::format("axis {} of `{}`{} has extent {}, but its argument has {}", axis, param.name, name, expected,
                     actual))
        .label(param.span, "the parameter")
        .help("pass arguments whose extents agree");
    return false;
  }

  bool run_launch_region() {
    std::vector<ir::Scalar> scalars;
    for (std::size_t i = 0; i < args_.size(); ++i) {
      const ir::Type& type = kernel_.params[i].type;
      scalars.push_back(type.is_scalar() ? ir::Scalar{type.dtype, args_[i].scalar_bits} : ir::Scalar{});
    }
    const ir::Inst* failed = nullptr;
    const auto yielded = runtime::evaluate_launch_region(kernel_, binding_.dims, scalars, &failed);
    if (yielded) {
      binding_.yielded = *yielded;
      return true;
    }
    if (failed == nullptr) {
      fail(fmt::format("a division by zero in the sizes of `{}`", kernel_.name));
      return false;
    }
    const std::string_view clause = failed->attrs.text(ir::Attr::text);
    std::string values;
    const auto add = [&](std::string_view name, const std::string& value) {
      if (mentions(clause, name)) values += fmt::format("{}{} = {}", values.empty() ? "" : ", ", name, value);
    };
    for (std::size_t i = 0; i < kernel_.dims.size(); ++i) add(kernel_.dims[i], fmt::format("{}", binding_.dims[i]));
    for (const auto& [name, value] : kernel_.bindings) add(name, value);
    for (std::size_t i = 0; i < scalars.size(); ++i) {
      if (kernel_.params[i].type.is_scalar()) add(kernel_.params[i].name, ir::format(scalars[i]));
    }
    fail(fmt::format("`{}` requires `{}`{}{}", kernel_.name, clause, values.empty() ? "" : "; here ", values))
        .label(failed->loc.span, "this clause does not hold")
        .help("call it with arguments that satisfy the clause");
    return false;
  }

  bool check_computed() {
    for (std::size_t i = 0; i < args_.size(); ++i) {
      const ir::Param& param = kernel_.params[i];
      for (std::size_t axis = 0; axis < param.dims.size(); ++axis) {
        if (param.dims[axis].kind != Kind::computed) continue;
        const std::int64_t wanted = binding_.yielded[static_cast<std::size_t>(param.dims[axis].value)];
        if (args_[i].shape[axis] == wanted) continue;
        fail(fmt::format("axis {} of `{}` has to have extent {} here, but its argument has {}", axis, param.name,
                         wanted, args_[i].shape[axis]))
            .label(param.span, "the parameter's extent is computed");
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::int64_t bytes(std::size_t i) const {
    return kernel_.params[i].type.is_scalar()
               ? 0
               : ir::element_count(args_[i].shape) * ir::byte_size(kernel_.params[i].type.dtype);
  }

  /// Memory that is written must not be seen through another parameter as well.
  bool check_overlap() {
    for (std::size_t i = 0; i < args_.size(); ++i) {
      if (kernel_.params[i].mode == ir::Mode::in || bytes(i) == 0) continue;
      for (std::size_t j = 0; j < args_.size(); ++j) {
        if (i == j || bytes(j) == 0) continue;
        const auto* a = static_cast<const std::byte*>(args_[i].data);
        const auto* b = static_cast<const std::byte*>(args_[j].data);
        if (a + bytes(i) <= b || b + bytes(j) <= a) continue;
        fail(fmt::format("the arguments of `{}` and `{}` overlap in memory, and `{}` is written",
                         kernel_.params[i].name, kernel_.params[j].name, kernel_.params[i].name))
            .label(kernel_.params[i].span, "written")
            .label(kernel_.params[j].span, "overlaps")
            .help("pass separate memory, or make it one `inout` parameter");
        return false;
      }
    }
    return true;
  }

  bool size_grid() {
    constexpr std::int64_t most_blocks = (std::int64_t{1} << 31) - 1;  // along x (CUDA C Programming Guide)
    std::int64_t blocks = 1;
    for (std::size_t a = 0; a < kernel_.axes.size(); ++a) {
      const ir::MeshAxis& axis = kernel_.axes[a];
      const std::int64_t extent = a < binding_.yielded.size() ? binding_.yielded[a] : axis.size;
      if (extent < 0) {
        fail(fmt::format("mesh axis `{}` would have the extent {}", axis.name, extent)).label(axis.span, "this axis");
        return false;
      }
      if (axis.kind == ir::MeshAxis::Kind::wg) continue;
      blocks = std::min(blocks, most_blocks + 1) * std::min(extent, most_blocks + 1);
    }
    binding_.blocks = blocks;
    if (blocks <= most_blocks) return true;
    fail(fmt::format("the grid would have {} blocks, more than a launch can have", blocks));
    return false;
  }

  const ir::Kernel& kernel_;
  const std::vector<interp::Argument>& args_;
  Span span_;
  Diagnostics& diags_;
  Binding binding_;
};

}  // namespace

std::optional<Binding> bind(const ir::Kernel& kernel, const std::vector<interp::Argument>& args, Span launch_span,
                            Diagnostics& diags) {
  return Binder(kernel, args, launch_span, diags).bind();
}

}  // namespace pk::cuda
