// PK0306, PK0308 and PK0312: what a mesh, a block spec and a register clause may say.

#include <fmt/format.h>

#include "rules.h"

namespace pk::sema::rules {
namespace {

using Kind = ast::Axis::Kind;

std::string_view kind_word(Kind kind) {
  switch (kind) {
    case Kind::grid:
      return "grid";
    case Kind::cluster:
      return "cluster";
    case Kind::wg:
      return "wg";
  }
  return "?";
}

int check_axis(const MeshAxisInfo& axis, Diagnostics& diags) {
  const std::string_view kind = kind_word(axis.kind);
  if (axis.name.empty()) {
    auto report = diags.report<diag::bad_mesh>(axis.span, fmt::format("this {} axis has no name", kind));
    report.note(axis.kind == Kind::wg ? "threads are told apart, and scopes made collective, by the axis's name"
                                      : "the axis's name is the coordinate in the kernel");
    const Span behind{axis.span.file, axis.span.begin + static_cast<std::uint32_t>(kind.size()),
                      axis.span.begin + static_cast<std::uint32_t>(kind.size())};
    report.fix("name it", {{behind, axis.kind == Kind::wg ? " w" : axis.kind == Kind::cluster ? " c" : " b"}});
    return 1;
  }
  if (!axis.has_size) {
    diags.report<diag::bad_mesh>(axis.span, fmt::format("axis `{}` has no size", axis.name))
        .help(fmt::format(
            "write `{} {}: n`, where n is {}", kind, axis.name,
            axis.kind == Kind::grid ? "the number of blocks along it" : "a number known when the kernel is compiled"));
    return 1;
  }
  if (axis.size && *axis.size < 1 && axis.kind != Kind::grid) {
    diags.report<diag::bad_mesh>(axis.span, fmt::format("axis `{}` has size {}", axis.name, *axis.size))
        .help("a cluster or wg axis has at least one block or thread");
    return 1;
  }
  return 0;
}

int check_limits(const MeshInfo& mesh, const ir::Target& target, Diagnostics& diags) {
  int errors = 0;
  const MeshAxisInfo* wg = nullptr;
  std::vector<const MeshAxisInfo*> clusters;
  std::int64_t blocks = 1;
  for (const MeshAxisInfo& axis : mesh.axes) {
    if (axis.kind == Kind::cluster) {
      clusters.push_back(&axis);
      blocks *= axis.size.value_or(1);
    }
    if (axis.kind != Kind::wg) continue;
    if (wg != nullptr) {
      diags.report<diag::bad_mesh>(axis.span, fmt::format("a second wg axis: `{}` beside `{}`", axis.name, wg->name))
          .label(wg->span, "the first one")
          .help(
              "a block's threads have one coordinate; use one axis with the product of the sizes, and `/` and `%` of "
              "it");
      ++errors;
    } else if (axis.size && *axis.size > target.max_warpgroups) {
      diags
          .report<diag::bad_mesh>(axis.span, fmt::format("`{}` has {} threads; a block has at most {}", axis.name,
                                                         *axis.size, target.max_warpgroups))
          .note(fmt::format("a thread is a warpgroup of {} lanes, and a block has at most {} lanes",
                            ir::lanes_per_thread, target.max_warpgroups * ir::lanes_per_thread));
      ++errors;
    }
    wg = &axis;
  }
  if (clusters.size() > 3) {
    diags
        .report<diag::bad_mesh>(clusters[3]->span,
                                fmt::format("{} cluster axes; a cluster has at most 3", clusters.size()))
        .label(clusters[0]->span, "the first one");
    return errors + 1;
  }
  const int limit = mesh.nonportable ? target.max_nonportable_cluster : target.max_cluster;
  if (!clusters.empty() && blocks > limit) {
    auto report = diags.report<diag::bad_mesh>(
        clusters.back()->span, fmt::format("clusters of {} blocks; at most {} are possible", blocks, limit));
    for (std::size_t i = 0; i + 1 < clusters.size(); ++i) report.label(clusters[i]->span, "times this");
    if (!mesh.nonportable && blocks <= target.max_nonportable_cluster) {
      report.help(fmt::format("add `nonportable` behind the size to allow up to {} where the device can",
                              target.max_nonportable_cluster));
    }
    ++errors;
  }
  return errors;
}

}  // namespace

int check_mesh(const MeshInfo& mesh, const ir::Target& target, Diagnostics& diags) {
  int errors = 0;
  for (const MeshAxisInfo& axis : mesh.axes) errors += check_axis(axis, diags);
  return errors > 0 ? errors : check_limits(mesh, target, diags);
}

int check_block_spec(const ast::Param& param, Diagnostics& diags) {
  if (!param.block) return 0;
  for (const ast::Attribute& attribute : param.block->attributes) {
    if (attribute.name.text != "collective") continue;
    diags.report<diag::collective_block_spec>(attribute.span, param.name.text)
        .at("nothing shares this copy")
        .note(
            "a blocked kernel has one thread per block and no clusters: each block fetches its own blocks of the "
            "parameter")
        .help(
            "to share fetches among the blocks of a cluster, write a mesh kernel: `mesh(grid …, cluster c: 2, wg w: "
            "3)` with a specialised "
            "`pipeline` whose loads are `collective(c)`")
        .fix("drop the clause", {{attribute.span, ""}});
    return 1;
  }
  return 0;
}

int check_register_clause(std::int64_t registers, Span span, Diagnostics& diags) {
  if (registers % 8 == 0 && registers >= 24 && registers <= 256) return 0;
  auto report =
      diags.report<diag::bad_register_count>(span, fmt::format("{} registers a lane cannot be set", registers));
  report.note("setmaxnreg takes multiples of 8 from 24 to 256");
  const std::int64_t near = std::min<std::int64_t>(256, std::max<std::int64_t>(24, (registers + 4) / 8 * 8));
  report.help(fmt::format("the nearest count is {}", near));
  return 1;
}

int check_register_pool(const std::vector<std::int64_t>& registers, const std::vector<std::int64_t>& threads,
                        const ir::Target& target, Span span, Diagnostics& diags) {
  std::int64_t total = 0;
  std::string sum;
  for (std::size_t i = 0; i < registers.size() && i < threads.size(); ++i) {
    total += registers[i] * threads[i] * ir::lanes_per_thread;
    if (registers[i] == 0 || threads[i] == 0) continue;
    sum += fmt::format("{}{} x {} x {}", sum.empty() ? "" : " + ", threads[i], ir::lanes_per_thread, registers[i]);
  }
  if (total <= target.register_pool) return 0;
  diags
      .report<diag::bad_register_count>(
          span, fmt::format("the threads ask for {} registers together; a multiprocessor has {}", total,
                            target.register_pool))
      .note(fmt::format("threads x lanes x registers: {}", sum))
      .help("lower the counts of the threads that hold no accumulators, down to 24");
  return 1;
}

}  // namespace pk::sema::rules
