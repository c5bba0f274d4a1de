// Checks and output: what a kernel says when something is wrong.

#include <fmt/format.h>

#include "lowering.h"

namespace pk::codegen {

using ir::Attr;
using ir::Op;

/// Leaves the number of the check where the host finds it, and stops the kernel.
void Lowering::stop(const ir::Inst& inst) {
  manifest_.checks.push_back({std::string(inst.attrs.text(Attr::text)), inst.loc.span, inst.op == Op::trap});
  assembly("st.relaxed.sys.global.b32 [$0], $1;\nfence.acq_rel.sys;", "l,r",
           {report_, i32(static_cast<std::int64_t>(manifest_.checks.size()))});
  assembly("trap;", "", {});
}

void Lowering::lower_debug(const ir::Inst& inst) {
  switch (inst.op) {
    case Op::trap:
      return stop(inst);
    case Op::assert_: {
      const ir::Value condition = inst.operands[0];
      llvm::Value* good = b().getTrue();
      if (!type(condition).is_tile()) {
        good = scalar(condition);
      } else {
        const Tile& all = tile(condition);
        for (int reg = 0; reg < all.layout.register_count(); ++reg) {
          if (!all.layout.exists(reg)) continue;
          llvm::Value* mine = all.registers[static_cast<std::size_t>(reg)];
          if (llvm::Value* here = inside(all.layout, reg)) mine = b().CreateOr(mine, b().CreateNot(here));
          good = b().CreateAnd(good, mine);
        }
      }
      return when(b().CreateNot(good), [&] { stop(inst); });
    }
    case Op::assume:
      return;
    default:  // print
      unsupported(inst);
  }
}

}  // namespace pk::codegen
