#pragma once
// Where the `return`s of a body stand: decides whether an inlined function needs a block to leave.

#include "pk/frontend/ast.h"

namespace pk::sema {

[[nodiscard]] bool contains_return(const ast::Ast& tree, const ast::Block& block);

/// Whether the only `return` is the last statement of the body, or there is none.
[[nodiscard]] bool returns_only_at_end(const ast::Ast& tree, const ast::Block& body);

}  // namespace pk::sema
