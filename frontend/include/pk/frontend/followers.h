#pragma once
// One mistake, one error: takes out errors that only follow from a syntax error. For tools, after everything is
// checked.

#include "pk/frontend/ast.h"
#include "pk/frontend/diagnostics.h"

namespace pk {

/// Drops what was found in a line that does not parse, and in items of `tree` whose brackets do not match, since what
/// was read there is not what was meant. Syntax errors themselves stay.
void drop_followers(const Sources& sources, const ast::Ast& tree, Diagnostics& diags);

}  // namespace pk
