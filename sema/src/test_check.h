#pragma once
// Names in `test` items: kernels, operations, variables, numbers of arguments. Values are the test runner's.

#include "module.h"
#include "pk/frontend/diagnostics.h"

namespace pk::sema {

void check_test(const Module& module, const ast::Test& test, Diagnostics& diags);

}  // namespace pk::sema
