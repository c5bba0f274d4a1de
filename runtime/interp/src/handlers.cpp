#include "handlers.h"

#include "pk/frontend/diagnostics.h"

namespace pk::interp {

namespace {

/// Operations that flattening takes apart: constants, control flow, scopes and pipelines.
constexpr bool is_flattened(ir::Op op) {
  const ir::OpClass cls = ir::info(op).cls;
  return op == ir::Op::constant || cls == ir::OpClass::control || cls == ir::OpClass::terminator ||
         cls == ir::OpClass::scope || cls == ir::OpClass::pipeline;
}

constexpr bool is_arithmetic(ir::Op op) {
  return ir::is_elementwise(op) && ir::info(op).cls != ir::OpClass::conversion;
}

}  // namespace

Handler handler_of(ir::Op op) {
  switch (op) {
#define PK_OP(name, ...)                                \
  case ir::Op::name:                                    \
    if constexpr (is_arithmetic(ir::Op::name)) {        \
      return handlers::elementwise;                     \
    } else if constexpr (!is_flattened(ir::Op::name)) { \
      return handlers::name;                            \
    }                                                   \
    break;
#include "pk/ir/ops.def"
  }
  PK_CHECK(false, "an operation that flattening handles itself");
  return nullptr;
}

}  // namespace pk::interp
