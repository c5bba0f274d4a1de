// Which function lowers which operation.

#include <fmt/format.h>

#include "lowering.h"

namespace pk::codegen {

using ir::Op;
using ir::OpClass;

void Lowering::unsupported(const ir::Inst& inst, const std::string& why) const {
  const std::string_view name =
      ir::info(inst.op).spelling.empty() ? ir::info(inst.op).name : ir::info(inst.op).spelling;
  throw Unsupported{inst.loc, why.empty()
                                  ? fmt::format("`{}` is not supported on the cuda back end yet", name)
                                  : fmt::format("`{}` is not supported on the cuda back end yet here: {}", name, why)};
}

void Lowering::lower_guarded(const ir::Inst& inst) {
  for (const Meeting& m : shared_plan_.before(inst)) meet(m);
  lower(inst);
  for (const Meeting& m : shared_plan_.after(inst)) meet(m);
}

void Lowering::lower_region(const ir::Region& region) {
  for (const ir::Inst& inst : region.insts) lower_guarded(inst);
}

void Lowering::lower(const ir::Inst& inst) {
  if (ir::is_elementwise(inst.op)) return lower_elementwise(inst);
  switch (inst.op) {
    case Op::constant:
    case Op::coord:
    case Op::axis_size:
    case Op::dim_value:
      return lower_constant(inst);
    case Op::iota:
      return lower_iota(inst);
    case Op::splat:
    case Op::broadcast:
    case Op::reshape:
    case Op::transpose:
    case Op::extract_slice:
    case Op::layout_cast:
      return lower_shape(inst);
    case Op::concat:
      return lower_concat(inst);
    case Op::reduce_sum:
    case Op::reduce_prod:
    case Op::reduce_min:
    case Op::reduce_max:
    case Op::reduce_any:
    case Op::reduce_all:
      return lower_reduction(inst);
    case Op::cumsum:
      return lower_cumsum(inst);
    case Op::subview:
    case Op::ref_transpose:
    case Op::ref_reshape:
    case Op::peer:
      return lower_view(inst);
    case Op::load:
      return lower_load(inst);
    case Op::store:
      return lower_store(inst);
    case Op::load_masked:
      return lower_load_masked(inst);
    case Op::store_masked:
      return lower_store_masked(inst);
    case Op::acc_load:
      return lower_load(inst);
    case Op::atomic:
      return lower_atomic(inst);
    case Op::var:
    case Op::var_get:
    case Op::var_set:
      return lower_var(inst);
    case Op::scoped:
      return lower_scoped(inst);
    case Op::alloc:
      return lower_alloc(inst);
    case Op::copy_gmem_to_smem:
      return lower_copy_in(inst);
    case Op::copy_smem_to_gmem:
      return lower_copy_out(inst);
    case Op::commit_copies:
    case Op::wait_smem_to_gmem:
    case Op::commit_smem:
    case Op::prefetch:
      return lower_copy_control(inst);
    case Op::barrier_arrive:
    case Op::barrier_wait:
    case Op::barrier_test:
      return lower_barrier(inst);
    case Op::semaphore_signal:
    case Op::semaphore_wait:
    case Op::semaphore_read:
      return lower_semaphore(inst);
    case Op::sync:
      return lower_sync(inst);
    case Op::wgmma:
      return lower_wgmma(inst);
    case Op::wgmma_wait:
      return lower_wgmma_wait(inst);
    case Op::if_:
      return lower_if(inst);
    case Op::for_:
      return lower_for(inst);
    case Op::while_:
      return lower_while(inst);
    case Op::block:
      return lower_block(inst);
    case Op::specialize:
      return lower_specialize(inst);
    case Op::break_:
    case Op::continue_:
    case Op::exit_block:
    case Op::yield:
      return lower_jump(inst);
    case Op::print:
    case Op::assert_:
    case Op::trap:
    case Op::assume:
      return lower_debug(inst);
    case Op::launch_dependents:
      assembly("griddepcontrol.launch_dependents;", "", {});
      return;
    case Op::wait_for_prior_kernels:
      assembly("griddepcontrol.wait;", "", {});
      return;
    default:  // async_store, dot; pipelines and launch regions do not come here
      unsupported(inst);
  }
}

}  // namespace pk::codegen
