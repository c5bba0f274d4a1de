#include "handlers.h"

namespace pk::interp {

Handler handler_of(ir::Op op) {
  if (ir::is_elementwise(op) && ir::info(op).cls != ir::OpClass::conversion) return handlers::elementwise;
  switch (op) {
    using enum ir::Op;
    case coord:
      return handlers::coord;
    case axis_size:
      return handlers::axis_size;
    case dim_value:
      return handlers::dim_value;
    case splat:
      return handlers::splat;
    case iota:
      return handlers::iota;
    case cast:
      return handlers::cast;
    case bitcast:
      return handlers::bitcast;
    case broadcast:
      return handlers::broadcast;
    case reshape:
      return handlers::reshape;
    case transpose:
      return handlers::transpose;
    case concat:
      return handlers::concat;
    case extract_slice:
      return handlers::extract_slice;
    case layout_cast:
      return handlers::layout_cast;
    case reduce_sum:
      return handlers::reduce_sum;
    case reduce_prod:
      return handlers::reduce_prod;
    case reduce_min:
      return handlers::reduce_min;
    case reduce_max:
      return handlers::reduce_max;
    case reduce_any:
      return handlers::reduce_any;
    case reduce_all:
      return handlers::reduce_all;
    case cumsum:
      return handlers::cumsum;
    case subview:
      return handlers::subview;
    case ref_transpose:
      return handlers::ref_transpose;
    case ref_reshape:
      return handlers::ref_reshape;
    case peer:
      return handlers::peer;
    case load:
      return handlers::load;
    case store:
      return handlers::store;
    case load_masked:
      return handlers::load_masked;
    case store_masked:
      return handlers::store_masked;
    case acc_load:
      return handlers::acc_load;
    case atomic:
      return handlers::atomic;
    case var:
      return handlers::var;
    case var_get:
      return handlers::var_get;
    case var_set:
      return handlers::var_set;
    case copy_gmem_to_smem:
      return handlers::copy_gmem_to_smem;
    case copy_smem_to_gmem:
      return handlers::copy_smem_to_gmem;
    case commit_copies:
      return handlers::commit_copies;
    case wait_smem_to_gmem:
      return handlers::wait_smem_to_gmem;
    case commit_smem:
      return handlers::commit_smem;
    case prefetch:
      return handlers::prefetch;
    case async_store:
      return handlers::async_store;
    case barrier_arrive:
      return handlers::barrier_arrive;
    case barrier_wait:
      return handlers::barrier_wait;
    case barrier_test:
      return handlers::barrier_test;
    case semaphore_signal:
      return handlers::semaphore_signal;
    case semaphore_wait:
      return handlers::semaphore_wait;
    case semaphore_read:
      return handlers::semaphore_read;
    case sync:
      return handlers::sync;
    case wgmma:
      return handlers::wgmma;
    case wgmma_wait:
      return handlers::wgmma_wait;
    case dot:
      return handlers::dot;
    case print:
      return handlers::print;
    case assert_:
      return handlers::assert_;
    case trap:
      return handlers::trap;
    case assume:
      return handlers::assume;
    case launch_dependents:
      return handlers::launch_dependents;
    case wait_for_prior_kernels:
      return handlers::wait_for_prior_kernels;
    case require:
      return handlers::require;
    default:
      break;  // constants, control flow, scopes and pipelines, which flattening takes apart
  }
  PK_CHECK(false, "an operation that flattening handles itself");
  return nullptr;
}

}  // namespace pk::interp
