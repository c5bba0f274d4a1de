// print, assert, trap, assume, and the requirements of a launch.

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "handlers.h"
#include "machine.h"
#include "pk/ir/numerics.h"

namespace pk::interp {

namespace {

const std::byte* bytes_of(Thread& t, const Slot& slot) {
  return slot.kind == Slot::Kind::tile ? t.tile(slot) : reinterpret_cast<const std::byte*>(&t.scalar(slot));
}

/// "[[1, 2], [3, 4]]"
void print_tile(std::string& out, ir::Dtype dtype, const std::byte*& data, const ir::Shape& shape, std::size_t axis) {
  if (axis == shape.size()) {
    out += ir::format(ir::Scalar::load(dtype, data));
    data += ir::byte_size(dtype);
    return;
  }
  out += '[';
  for (std::int64_t i = 0; i < shape[axis]; ++i) {
    if (i > 0) out += ", ";
    print_tile(out, dtype, data, shape, axis + 1);
  }
  out += ']';
}

/// Number of the first element that is false, or -1.
std::int64_t first_false(const std::byte* data, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    if (data[i] == std::byte{0}) return i;
  }
  return -1;
}

Step check_condition(Machine& m, Thread& t, const Instr& at, std::string_view what) {
  const Slot& slot = m.program().slot(at.inst->operands[0]);
  const std::int64_t count = slot.kind == Slot::Kind::tile ? slot.count : 1;
  const std::int64_t element = first_false(bytes_of(t, slot), count);
  if (element < 0) return Step::next;
  const std::string_view text = at.inst->attrs.text(ir::Attr::text);
  auto d =
      m.fail<diag::run_assert>(*at.inst, fmt::format("{} does not hold{}{}", what, text.empty() ? "" : ": ", text));
  d.at(slot.kind == Slot::Kind::tile
           ? fmt::format("element {} (row-major) is false in {}", element, m.name_thread(t.agent))
           : fmt::format("false in {}", m.name_thread(t.agent)));
  return Step::failed;
}

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

}  // namespace

void Machine::report_division(const Thread& thread, const Instr& at, const Undefined& undefined) {
  auto d = fail<diag::run_arithmetic>(*undefined.division, std::string(ir::describe(undefined.error)));
  const auto first = std::ranges::find(undefined.elements, std::uint8_t{1}) - undefined.elements.begin();
  d.at(undefined.elements.size() == 1
           ? fmt::format("in {}", name_thread(thread.agent))
           : fmt::format("at element {} (row-major) of the tile, in {}", first, name_thread(thread.agent)));
  if (at.inst->loc.span != undefined.division->loc.span) d.label(at.inst->loc.span, "its result is used here");
  d.help(undefined.error == ir::NumError::division_by_zero
             ? "divide by something that is never zero, or drop the element: `select(d == 0, other, x / d)`"
             : "the quotient of the smallest value and -1 has no place in the type: use a wider type");
}

namespace handlers {

Step print(Machine& m, Thread& t, const Instr& at) {
  const std::vector<std::string>& texts = at.inst->attrs.texts(ir::Attr::texts);
  std::string out;
  for (std::size_t i = 0; i < std::max(texts.size(), at.inst->operands.size()); ++i) {
    if (i < texts.size()) out += texts[i];
    if (i >= at.inst->operands.size()) continue;
    const ir::Value v = at.inst->operands[i];
    const Slot& slot = m.program().slot(v);
    const std::byte* data = bytes_of(t, slot);
    print_tile(out, slot.dtype, data, slot.kind == Slot::Kind::tile ? m.program().kernel.type(v).shape : ir::Shape{},
               0);
  }
  out += '\n';
  const std::scoped_lock lock(m.launch().mutex);
  if (m.launch().options->print) {
    m.launch().options->print(out);
  } else {
    std::fwrite(out.data(), 1, out.size(), stdout);
  }
  return Step::next;
}

Step assert_(Machine& m, Thread& t, const Instr& at) { return check_condition(m, t, at, "assertion"); }
Step assume(Machine& m, Thread& t, const Instr& at) { return check_condition(m, t, at, "assumption"); }

Step trap(Machine& m, Thread& t, const Instr& at) {
  const std::string_view text = at.inst->attrs.text(ir::Attr::text);
  m.fail<diag::run_trap>(*at.inst, fmt::format("trap{}{}", text.empty() ? "" : ": ", text))
      .at(fmt::format("reached by {}", m.name_thread(t.agent)));
  return Step::failed;
}

Step require(Machine& m, Thread& t, const Instr& at) {
  if (t.scalar(m.program().slot(at.inst->operands[0])) != 0) return Step::next;
  const std::string_view clause = at.inst->attrs.text(ir::Attr::text);
  const ir::Kernel& kernel = m.program().kernel;
  std::string values;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (mentions(clause, name)) values += fmt::format("{}{} = {}", values.empty() ? "" : ", ", name, value);
  };
  for (std::size_t i = 0; i < kernel.dims.size(); ++i) add(kernel.dims[i], fmt::format("{}", m.launch().dims[i]));
  for (const auto& [name, value] : kernel.bindings) add(name, value);
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    if (kernel.params[i].type.is_scalar())
      add(kernel.params[i].name, ir::format({kernel.params[i].type.dtype, m.launch().scalars[i]}));
  }
  m.launch()
      .diags
      ->report<diag::run_launch>(m.launch().span, fmt::format("`{}` requires `{}`{}{}", kernel.name, clause,
                                                              values.empty() ? "" : "; here ", values))
      .label(at.inst->loc.span, "this clause does not hold")
      .help("call it with arguments that satisfy the clause");
  m.launch().failed = true;
  return Step::failed;
}

}  // namespace handlers

}  // namespace pk::interp
