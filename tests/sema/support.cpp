#include "support.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>

namespace pk::test {
namespace {

struct Announced {
  unsigned line;
  std::string code;
  std::string word;
  bool found = false;
};

std::string trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return std::string(text);
}

std::vector<Announced> announced_in(std::string_view source) {
  std::vector<Announced> list;
  unsigned line = 1;
  while (!source.empty()) {
    const std::size_t end = std::min(source.find('\n'), source.size());
    std::string_view text = source.substr(0, end);
    const std::size_t mark = text.find("//!");
    if (mark != std::string_view::npos) {
      std::string_view rest = text.substr(mark + 3);
      while (!rest.empty()) {
        const std::size_t stop = std::min(rest.find(';'), rest.size());
        const std::string_view one = rest.substr(0, stop);
        const std::size_t colon = std::min(one.find(':'), one.size());
        list.push_back(
            {line, trimmed(one.substr(0, colon)), colon < one.size() ? trimmed(one.substr(colon + 1)) : std::string()});
        rest.remove_prefix(std::min(stop + 1, rest.size()));
      }
    }
    source.remove_prefix(std::min(end + 1, source.size()));
    ++line;
  }
  return list;
}

std::string everything(const Diagnostic& d) {
  std::string text = d.message;
  for (const Label& label : d.labels) text += " / " + label.message;
  for (const std::string& note : d.notes) text += " / " + note;
  for (const std::string& help : d.help) text += " / " + help;
  return text;
}

void collect(const ir::Region& region, std::vector<const ir::Inst*>& into) {
  for (const ir::Inst& inst : region.insts) {
    into.push_back(&inst);
    for (const ir::Region& inner : inst.regions) collect(inner, into);
  }
}

}  // namespace

std::string mismatches(std::string_view source) {
  Sources sources;
  const FileId file = sources.add("test.pk", std::string(source));
  Diagnostics diags;
  const sema::ModulePtr module = sema::load(sources, file, diags);
  sema::check(*module, ir::sm_90a, diags);
  std::vector<Announced> announced = announced_in(source);
  std::string differences;
  for (const Diagnostic& d : diags.all()) {
    if (d.severity != Severity::error) continue;
    const unsigned line = d.span.valid() ? sources.position(d.span.file, d.span.begin).line : 0;
    const std::string text = everything(d);
    const auto match = std::find_if(announced.begin(), announced.end(), [&](const Announced& a) {
      return a.line == line && a.code == code_name(d.code) && text.find(a.word) != std::string::npos;
    });
    if (match == announced.end()) {
      differences += fmt::format("line {}: unexpected {} {}\n", line, code_name(d.code), text);
    } else {
      match->found = true;
    }
  }
  for (const Announced& a : announced) {
    if (!a.found) differences += fmt::format("line {}: missing {} {}\n", a.line, a.code, a.word);
  }
  return differences;
}

Program::Program(std::string_view source) {
  Diagnostics diags;
  module_ = sema::load(sources_, sources_.add("test.pk", std::string(source)), diags);
  for (const Diagnostic& d : diags.all()) FAIL_CHECK(everything(d));
}

ir::Kernel Program::kernel(std::string_view name, const sema::Bindings& bindings) const {
  Diagnostics diags;
  const ast::Kernel* kernel = sema::find_kernel(*module_, name);
  REQUIRE(kernel != nullptr);
  auto result = sema::elaborate(*module_, *kernel, bindings, ir::sm_90a, diags);
  for (const Diagnostic& d : diags.all()) FAIL_CHECK(everything(d));
  return result ? std::move(*result) : ir::Kernel{};
}

std::vector<int> Program::errors(std::string_view name, const sema::Bindings& bindings) const {
  Diagnostics diags;
  (void)sema::elaborate(*module_, *sema::find_kernel(*module_, name), bindings, ir::sm_90a, diags);
  std::vector<int> codes;
  for (const Diagnostic& d : diags.all()) {
    if (d.severity == Severity::error) codes.push_back(d.code);
  }
  return codes;
}

std::vector<const ir::Inst*> all_insts(const ir::Region& region) {
  std::vector<const ir::Inst*> insts;
  collect(region, insts);
  return insts;
}

std::vector<const ir::Inst*> find_insts(const ir::Kernel& kernel, ir::Op op) {
  std::vector<const ir::Inst*> insts = all_insts(kernel.body);
  std::erase_if(insts, [op](const ir::Inst* inst) { return inst->op != op; });
  return insts;
}

}  // namespace pk::test
