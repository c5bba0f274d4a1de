#pragma once
// What each operation does: one handler a row of ops.def, found by handler_of (handlers.cpp). A row without a handler
// does not link. Elementwise operations share one.

#include "program.h"

namespace pk::interp::handlers {

#define PK_OP(name, ...) Step name(Machine&, Thread&, const Instr&);
#include "pk/ir/ops.def"
Step elementwise(Machine&, Thread&, const Instr&);

}  // namespace pk::interp::handlers
