#pragma once
// The rules of meshes, allocations, divergence, resources and protocols. Rules about what is written (meshes, scopes,
// block specs) work on the tree and are called by the elaborator where it meets them; rules about what can happen
// (check_kernel) work on the elaborated IR, where functions are inlined and one analysis sees every way to an
// operation. Each function returns the number of errors it reported.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pk/frontend/ast.h"
#include "pk/frontend/diagnostics.h"
#include "pk/ir/ir.h"
#include "pk/ir/target.h"

namespace pk::sema::rules {

struct MeshAxisInfo {
  ast::Axis::Kind kind = ast::Axis::Kind::grid;
  std::string name;  ///< empty when the program gives none
  bool has_size = true;
  std::optional<std::int64_t> size;  ///< when it is known while compiling
  Span span;                         ///< of the axis in the mesh
};

struct MeshInfo {
  std::vector<MeshAxisInfo> axes;
  bool blocked = false;  ///< of a blocked kernel: its axes are grid axes
  bool nonportable = false;
  Span span;  ///< of the mesh or grid clause

  [[nodiscard]] const MeshAxisInfo* wg() const {
    for (const MeshAxisInfo& a : axes) {
      if (a.kind == ast::Axis::Kind::wg) return &a;
    }
    return nullptr;
  }
  [[nodiscard]] const MeshAxisInfo* find(std::string_view name) const {
    for (const MeshAxisInfo& a : axes) {
      if (!a.name.empty() && a.name == name) return &a;
    }
    return nullptr;
  }
};

/// Adds to each report what the caller knows, such as labels for inlined calls.
using Annotate = std::function<void(DiagnosticBuilder&)>;

/// PK0308: axes without name or size, warpgroups a block, blocks a cluster.
int check_mesh(const MeshInfo& mesh, const ir::Target& target, Diagnostics& diags);

/// PK0301-PK0305 and PK0314 for one scope; at most one error.
int check_scoped(const ast::Scoped& scope, const ast::Ast& tree, const Sources& sources, const MeshInfo& mesh,
                 Diagnostics& diags, const Annotate& annotate);

/// PK0306: block specs take no `collective`.
int check_block_spec(const ast::Param& param, Diagnostics& diags);

/// PK0312: one register count.
int check_register_clause(std::int64_t registers, Span span, Diagnostics& diags);
/// PK0312: `registers[i]` for each of `threads[i]` warpgroups (0: no clause) against the pool of a multiprocessor.
int check_register_pool(const std::vector<std::int64_t>& registers, const std::vector<std::int64_t>& threads,
                        const ir::Target& target, Span span, Diagnostics& diags);

/// PK0307, PK0310, PK06xx on the elaborated kernel, which may have unresolved extents.
int check_kernel(const ir::Kernel& kernel, const ir::Target& target, Diagnostics& diags);

}  // namespace pk::sema::rules
