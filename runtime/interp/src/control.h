#pragma once
// Handlers of the instructions that flattening makes out of control flow and scopes. Implemented in control.cpp.

#include "program.h"

namespace pk::interp::control {

Step jump(Machine&, Thread&, const Instr&);
Step branch_unless(Machine&, Thread&, const Instr&);  ///< detail: scalar slot of the condition
Step for_begin(Machine&, Thread&, const Instr&);      ///< target: after the loop
Step for_next(Machine&, Thread&, const Instr&);       ///< target: the body
Step choose_arm(Machine&, Thread&, const Instr&);     ///< detail: table in Program::arms
Step enter_scope(Machine&, Thread&, const Instr&);    ///< detail: scope
Step leave_scope(Machine&, Thread&, const Instr&);
Step end_thread(Machine&, Thread&, const Instr&);
Step end_launch(Machine&, Thread&, const Instr&);

}  // namespace pk::interp::control
