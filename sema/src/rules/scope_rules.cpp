// PK0301-PK0305 and PK0314: who may allocate what, for whom (language reference, "Allocation").

#include <fmt/format.h>

#include <algorithm>

#include "../suggest.h"
#include "rules.h"

namespace pk::sema::rules {
namespace {

enum class AllocKind : std::uint8_t { memory, accumulator, semaphore };

/// A scope with what its rules need in plain form.
class ScopeCheck {
 public:
  ScopeCheck(const ast::Scoped& scope, const ast::Ast& tree, const Sources& sources, const MeshInfo& mesh,
             Diagnostics& diags, const Annotate& annotate)
      : scope_(scope), tree_(tree), sources_(sources), mesh_(mesh), diags_(diags), annotate_(annotate) {
    for (const ast::Alloc& alloc : scope.allocs) {
      (kind(alloc) == AllocKind::accumulator ? accumulators_ : others_).push_back(&alloc);
    }
  }

  /// The rules in order of precedence: one mistake, one error.
  int run() {
    if (!scope_.collective) return check_private();
    if (mesh_.wg() == nullptr) return without_threads();
    if (const int errors = check_names()) return errors;
    if (const int errors = check_semaphores()) return errors;
    if (const int errors = check_axes()) return errors;
    return accumulators_.empty() ? 0 : collective_accumulator();
  }

 private:
  [[nodiscard]] AllocKind kind(const ast::Alloc& alloc) const {
    if (!alloc.type.valid()) return AllocKind::memory;
    const ast::TypeExpr& type = tree_[alloc.type];
    if (type.space.text == "acc") return AllocKind::accumulator;
    return type.base.text == "semaphore" ? AllocKind::semaphore : AllocKind::memory;
  }
  [[nodiscard]] static bool has(const ast::Alloc& alloc, std::string_view attribute) {
    return std::any_of(alloc.attributes.begin(), alloc.attributes.end(),
                       [&](const ast::Attribute& a) { return a.name.text == attribute; });
  }
  [[nodiscard]] std::string_view name_of(const ast::Alloc& alloc) const {
    if (alloc.members.empty()) return alloc.name.text;
    return alloc.members.front().name.text;
  }
  [[nodiscard]] Span place_of(const ast::Alloc& alloc) const {
    return alloc.members.empty() ? alloc.name.span : alloc.span;
  }
  [[nodiscard]] std::string_view text(ast::ExprId id) const { return sources_.text(tree_[id].span); }
  [[nodiscard]] std::string list(const std::vector<const ast::Alloc*>& allocs) const {
    std::string out;
    for (const ast::Alloc* a : allocs) out += fmt::format("{}{}", out.empty() ? "" : ", ", sources_.text(a->span));
    return out;
  }
  void finish(DiagnosticBuilder& report) const {
    if (annotate_) annotate_(report);
  }
  void label_wg(DiagnosticBuilder& report) const {
    const MeshAxisInfo& wg = *mesh_.wg();
    report.label(wg.span, wg.size ? fmt::format("{} thread{} a block", *wg.size, *wg.size == 1 ? "" : "s")
                                  : std::string("the block's threads"));
  }
  /// Edits that put what all threads share into a collective scope around one with the accumulators.
  [[nodiscard]] std::vector<Edit> split() const {
    const Span head{scope_.keyword.file, scope_.keyword.end, scope_.parens.end};
    const Span end{scope_.body.span.file, scope_.body.span.end, scope_.body.span.end};
    return {{head,
             fmt::format(" collective({}) ({}) {{ scoped ({})", mesh_.wg()->name, list(others_), list(accumulators_))},
            {end, " }"}};
  }
  [[nodiscard]] Span after_keyword() const { return {scope_.keyword.file, scope_.keyword.end, scope_.keyword.end}; }
  /// The clause with the space before it, for removing it.
  [[nodiscard]] Span clause_and_space() const {
    return {scope_.keyword.file, scope_.keyword.end, scope_.collective->span.end};
  }

  // PK0301
  int check_private() {
    const MeshAxisInfo* wg = mesh_.wg();
    if (wg == nullptr || others_.empty()) return 0;
    const ast::Alloc& culprit = *others_.front();
    auto report = diags_.report<diag::private_allocation>(place_of(culprit), name_of(culprit), wg->name);
    report.at("allocated without `collective`");
    label_wg(report);
    if (accumulators_.empty()) {
      report.help(fmt::format("allocate it once for all threads: `scoped collective({}) (…)`", wg->name))
          .note(fmt::format("every thread can then use it: give each its part, `{}` as an index", wg->name))
          .fix(fmt::format("add `collective({})`", wg->name),
               {{after_keyword(), fmt::format(" collective({})", wg->name)}});
    } else {
      report.label(place_of(*accumulators_.front()), "an accumulator stays private to its thread")
          .help(fmt::format("split the scope in two: `scoped collective({}) (…)` for what all threads share, and "
                            "inside it `scoped (…)` for the accumulators",
                            wg->name))
          .fix("split the scope", split());
    }
    finish(report);
    return 1;
  }

  // PK0302
  int collective_accumulator() {
    const ast::Alloc& culprit = *accumulators_.front();
    auto report = diags_.report<diag::collective_accumulator>(place_of(culprit), culprit.name.text);
    report.label(scope_.collective->span, "this clause would make one for all threads");
    if (others_.empty()) {
      report.help("drop the clause: each thread that enters the scope gets an accumulator of its own")
          .fix("drop the clause", {{clause_and_space(), ""}});
    } else {
      report
          .help(fmt::format("split the scope in two: keep `scoped collective({}) (…)` for the rest, and put `scoped "
                            "(…)` with the accumulators inside it",
                            mesh_.wg()->name))
          .fix("split the scope", split());
    }
    finish(report);
    return 1;
  }

  // PK0304
  int without_threads() {
    auto report = diags_.report<diag::collective_without_threads>(scope_.collective->span);
    report.at("nobody to share with");
    if (mesh_.span.valid())
      report.label(mesh_.span,
                   mesh_.blocked ? "a blocked kernel has one thread per block" : "one thread per block: no `wg` axis");
    report.note("without a wg axis each block has one thread, and what it allocates is its own")
        .help(mesh_.blocked ? "drop the clause"
                            : "drop the clause, or give the block more threads: add `wg w: 2` to the mesh")
        .fix("drop the clause", {{clause_and_space(), ""}});
    finish(report);
    return 1;
  }

  // PK0305
  int check_names() {
    std::vector<std::string_view> seen;
    for (const ast::ExprId id : scope_.collective->args) {
      const std::string_view name = text(id);
      const Span span = tree_[id].span;
      if (name.empty()) continue;  // a syntax error
      if (mesh_.find(name) == nullptr) {
        std::vector<std::string> names;
        std::string all;
        for (const MeshAxisInfo& a : mesh_.axes) {
          names.push_back(a.name);
          all += fmt::format("{}`{}`", all.empty() ? "" : ", ", a.name);
        }
        auto report =
            diags_.report<diag::collective_unknown_axis>(span, fmt::format("`{}` is no axis of the mesh", name));
        if (mesh_.span.valid()) report.label(mesh_.span, "the mesh");
        const auto near = closest(name, names);
        const std::string instead = near && mesh_.find(*near)->kind == ast::Axis::Kind::wg ? *near : mesh_.wg()->name;
        report.note(fmt::format("the axes are {}; the threads of a block are `{}`", all, mesh_.wg()->name))
            .help(near ? fmt::format("did you mean `{}`?", instead) : fmt::format("write `collective({})`", instead))
            .fix(fmt::format("write `{}`", instead), {{span, instead}});
        finish(report);
        return 1;
      }
      if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
        auto report = diags_.report<diag::collective_unknown_axis>(span, fmt::format("axis `{}` is named twice", name));
        report.help("name each axis once")
            .fix(fmt::format("write `collective({})` once", name),
                 {{scope_.collective->span, fmt::format("collective({})", name)}});
        finish(report);
        return 1;
      }
      seen.push_back(name);
    }
    return 0;
  }

  /// The axes of the clause that are not the wg axis.
  [[nodiscard]] std::vector<const MeshAxisInfo*> foreign_axes() const {
    std::vector<const MeshAxisInfo*> out;
    for (const ast::ExprId id : scope_.collective->args) {
      const MeshAxisInfo* axis = mesh_.find(text(id));
      if (axis != nullptr && axis->kind != ast::Axis::Kind::wg) out.push_back(axis);
    }
    return out;
  }

  // PK0314
  int check_semaphores() {
    const auto foreign = foreign_axes();
    if (foreign.empty()) return 0;
    for (const ast::Alloc* alloc : others_) {
      if (kind(*alloc) != AllocKind::semaphore) continue;
      const std::string between =
          foreign.front()->kind == ast::Axis::Kind::cluster ? "the blocks of a cluster" : "some blocks of the grid";
      auto report = diags_.report<diag::semaphore_scope>(
          place_of(*alloc), fmt::format("semaphore `{}` would belong to {}", alloc->name.text, between));
      report.label(scope_.collective->span, fmt::format("`{}` is no wg axis", foreign.front()->name))
          .note("a semaphore belongs to one block or to the whole grid, to nothing between")
          .help(fmt::format(
              "for one block write `collective({})`; for the whole grid also add `global`: `{}: semaphore global`",
              mesh_.wg()->name, alloc->name.text));
      if (!has(*alloc, "global")) {
        report.fix(fmt::format("make it the block's own: `collective({})`", mesh_.wg()->name),
                   {{scope_.collective->span, fmt::format("collective({})", mesh_.wg()->name)}});
      }
      finish(report);
      return 1;
    }
    return 0;
  }

  // PK0303
  int check_axes() {
    const auto foreign = foreign_axes();
    if (foreign.empty()) return 0;
    const bool cluster =
        std::any_of(foreign.begin(), foreign.end(), [](const auto* a) { return a->kind == ast::Axis::Kind::cluster; });
    const auto culprit = std::find_if(foreign.begin(), foreign.end(),
                                      [&](const auto* a) { return (a->kind == ast::Axis::Kind::cluster) == cluster; });
    Span span = scope_.collective->span;
    for (const ast::ExprId id : scope_.collective->args) {
      if (text(id) == (*culprit)->name) span = tree_[id].span;
    }
    const std::string what =
        cluster
            ? fmt::format("cluster axis `{}`: each block of a cluster has shared memory of its own", (*culprit)->name)
            : fmt::format("grid axis `{}`: blocks of the grid share no shared memory", (*culprit)->name);
    auto report = diags_.report<diag::collective_over_other_axis>(span, (*culprit)->name, what);
    report.label((*culprit)->span, cluster ? "a cluster axis" : "a grid axis");
    if (cluster) {
      report.note("each block allocates its own copy under the same name, and reaches another block's with `.peer`")
          .help(fmt::format("allocate with `collective({})` and read another block's copy as `{}.peer[{} = i]`; blocks "
                            "meet at a `cluster_barrier collective({})`",
                            mesh_.wg()->name, others_.empty() ? std::string_view("x") : name_of(*others_.front()),
                            (*culprit)->name, (*culprit)->name));
    } else {
      report.help(fmt::format(
          "allocate for the threads of the block: `collective({})`; blocks exchange data through global memory",
          mesh_.wg()->name));
    }
    report.fix(fmt::format("write `collective({})`", mesh_.wg()->name),
               {{scope_.collective->span, fmt::format("collective({})", mesh_.wg()->name)}});
    finish(report);
    return 1;
  }

  const ast::Scoped& scope_;
  const ast::Ast& tree_;
  const Sources& sources_;
  const MeshInfo& mesh_;
  Diagnostics& diags_;
  const Annotate& annotate_;
  std::vector<const ast::Alloc*> accumulators_;
  std::vector<const ast::Alloc*> others_;
};

}  // namespace

int check_scoped(const ast::Scoped& scope, const ast::Ast& tree, const Sources& sources, const MeshInfo& mesh,
                 Diagnostics& diags, const Annotate& annotate) {
  return ScopeCheck(scope, tree, sources, mesh, diags, annotate).run();
}

}  // namespace pk::sema::rules
