// The IR as text. docs/design.md, "IR text", shows the form; parse_text.cpp reads it back.

#include <fmt/format.h>

#include <unordered_set>

#include "pk/ir/text.h"

namespace pk::ir {
namespace {

std::string extent_text(std::int64_t extent) {
  if (extent == dynamic_extent) return "?";
  if (extent == unresolved_extent) return "??";
  return std::to_string(extent);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string_view attr_name(Attr key) {
  switch (key) {
#define PK_ATTR(name, kind, doc) \
  case Attr::name:               \
    return #name;
#include "pk/ir/attrs.def"
  }
  return "?";
}

template <class List, class Text>
std::string joined(const List& list, Text text) {
  std::string out;
  for (const auto& item : list) out += fmt::format("{}{}", out.empty() ? "" : ", ", text(item));
  return out;
}

std::string value_text(const AttrValue& value) {
  struct Visitor {
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t i) const { return std::to_string(i); }
    std::string operator()(double d) const { return fmt::format("{}", d); }
    std::string operator()(const std::string& s) const { return quoted(s); }
    std::string operator()(Dtype t) const { return std::string(spelling(t)); }
    std::string operator()(const std::vector<std::int64_t>& list) const {
      return fmt::format("[{}]", joined(list, [](std::int64_t i) { return std::to_string(i); }));
    }
    std::string operator()(const std::vector<std::string>& list) const {
      return fmt::format("[{}]", joined(list, [](const std::string& s) { return quoted(s); }));
    }
  };
  return std::visit(Visitor{}, value);
}

std::string attrs_text(const Attrs& attrs) {
  if (attrs.all().empty()) return {};
  return fmt::format(" {{{}}}", joined(attrs.all(), [](const auto& entry) {
                       const bool* flag = std::get_if<bool>(&entry.second);
                       if (flag != nullptr && *flag) return std::string(attr_name(entry.first));
                       return fmt::format("{} = {}", attr_name(entry.first), value_text(entry.second));
                     }));
}

std::string_view mode_text(Mode mode) {
  switch (mode) {
    case Mode::value:
      return "value";
    case Mode::in:
      return "in";
    case Mode::out:
      return "out";
    case Mode::inout:
      return "inout";
  }
  return "?";
}

std::string_view axis_kind_text(MeshAxis::Kind kind) {
  switch (kind) {
    case MeshAxis::Kind::grid:
      return "grid";
    case MeshAxis::Kind::cluster:
      return "cluster";
    case MeshAxis::Kind::wg:
      return "wg";
  }
  return "?";
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel), names_(kernel.values.size()) {}

  std::string run() {
    out_ = fmt::format("kernel @{}", kernel_.name);
    if (!kernel_.bindings.empty()) {
      out_ += fmt::format(" bind({})", joined(kernel_.bindings, [](const auto& b) {
                            return fmt::format("{} = {}", b.first, quoted(b.second));
                          }));
    }
    if (!kernel_.dims.empty())
      out_ += fmt::format(" dims({})", joined(kernel_.dims, [](const std::string& d) { return d; }));
    out_ += fmt::format("\n  ({})\n", joined(kernel_.params, [&](const Param& p) { return param(p); }));
    out_ += fmt::format("  mesh({}){} {{\n",
                        joined(kernel_.axes,
                               [](const MeshAxis& a) {
                                 return fmt::format("{} {}: {}", axis_kind_text(a.kind), a.name, extent_text(a.size));
                               }),
                        kernel_.nonportable_cluster ? " nonportable" : "");
    section("launch", kernel_.launch);
    section("body", kernel_.body);
    return std::move(out_) + "}\n";
  }
  std::string one(const Inst& inst) {
    line(inst);
    return std::move(out_);
  }

 private:
  std::string param(const Param& p) const {
    if (!p.type.is_ref()) return fmt::format("{}: {} {}", p.name, mode_text(p.mode), print(p.type));
    return fmt::format("{}: {} {}[{}]", p.name, mode_text(p.mode), spelling(p.type.dtype),
                       joined(p.dims, [&](const ParamDim& d) {
                         if (d.kind == ParamDim::Kind::constant) return std::to_string(d.value);
                         if (d.kind == ParamDim::Kind::computed) return fmt::format("= {}", d.value);
                         return kernel_.dims[static_cast<std::size_t>(d.value)];
                       }));
  }
  void section(std::string_view name, const Region& region) {
    out_ += fmt::format("  {}", name);
    region_text(region, 2);
    out_ += '\n';
  }

  /// The name of a value: its hint where that is free, else the hint and a number; bare numbers without a hint.
  const std::string& name(Value v) {
    std::string& n = names_[v.id];
    if (!n.empty()) return n;
    const std::string& hint = kernel_.values[v.id].name;
    if (hint.empty()) {
      n = std::to_string(next_number_++);
    } else {
      n = hint;
      for (int i = 1; taken_.contains(n); ++i) n = fmt::format("{}.{}", hint, i);
    }
    taken_.insert(n);
    return n;
  }
  /// Constants of the type `index` are called after their value where they have no name of their own.
  void name_constant(const Inst& inst) {
    const Value v = inst.results[0];
    const AttrValue* number = inst.attrs.find(Attr::value_int);
    const bool plain =
        number != nullptr && kernel_.type(v) == Type::scalar(Dtype::index) && inst.attrs.integer(Attr::value_int) >= 0;
    if (!plain || v.id >= names_.size() || !kernel_.values[v.id].name.empty()) return;
    const std::string base = fmt::format("c{}", inst.attrs.integer(Attr::value_int));
    std::string& n = names_[v.id] = base;
    for (int i = 1; taken_.contains(n); ++i) n = fmt::format("{}.{}", base, i);
    taken_.insert(n);
  }
  std::string value(Value v) { return v.id < names_.size() ? "%" + name(v) : std::string("%?"); }

  void line(const Inst& inst) {
    if (inst.op == Op::constant && !inst.results.empty()) name_constant(inst);
    if (!inst.results.empty()) out_ += fmt::format("{} = ", joined(inst.results, [&](Value v) { return value(v); }));
    out_ += info(inst.op).name;
    if (!inst.operands.empty()) out_ += " " + joined(inst.operands, [&](Value v) { return value(v); });
    out_ += attrs_text(inst.attrs);
    if (!inst.results.empty())
      out_ += fmt::format(" : {}", joined(inst.results, [&](Value v) { return print(kernel_.type(v)); }));
  }

  void region_text(const Region& region, int indent) {
    if (!region.args.empty()) {
      out_ += fmt::format(" ({})", joined(region.args, [&](Value v) {
                            return fmt::format("{}: {}", value(v), print(kernel_.type(v)));
                          }));
    }
    out_ += " {\n";
    for (const Inst& inst : region.insts) {
      out_.append(static_cast<std::size_t>(indent) + 2, ' ');
      line(inst);
      for (std::size_t r = 0; r < inst.regions.size(); ++r) {
        const bool empty_else = inst.op == Op::if_ && r == 1 && inst.regions[r].insts.empty();
        if (!empty_else) region_text(inst.regions[r], indent + 2);
      }
      out_ += '\n';
    }
    out_.append(static_cast<std::size_t>(indent), ' ');
    out_ += '}';
  }

  const Kernel& kernel_;
  std::string out_;
  std::vector<std::string> names_;
  std::unordered_set<std::string> taken_;
  int next_number_ = 0;
};

}  // namespace

std::string print(const Shape& shape) { return fmt::format("[{}]", joined(shape, extent_text)); }

std::string print(const Type& type) {
  switch (type.kind) {
    case Type::Kind::none:
      return "none";
    case Type::Kind::scalar:
      return std::string(spelling(type.dtype));
    case Type::Kind::tile:
      return fmt::format("{}{}", spelling(type.dtype), print(type.shape));
    case Type::Kind::cell:
      return fmt::format("cell {}{}", spelling(type.dtype), type.shape.empty() ? std::string() : print(type.shape));
    case Type::Kind::ref:
      break;
  }
  const bool elements =
      type.space == Space::gmem || type.space == Space::smem || type.space == Space::acc || type.space == Space::tmem;
  return fmt::format("{}{}{}", spelling(type.space),
                     elements ? fmt::format(" {}", spelling(type.dtype)) : std::string(), print(type.shape));
}

std::string print(const Kernel& kernel) { return Printer(kernel).run(); }

std::string print(const Kernel& kernel, const Inst& inst) { return Printer(kernel).one(inst); }

}  // namespace pk::ir
