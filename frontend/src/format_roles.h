#pragma once
// What each token is in the syntax, as far as the formatter must know. Private to frontend.

#include <cstdint>
#include <functional>

#include "item_parser.h"

namespace pk {

enum class Role : std::uint32_t {
  item_start = 1U << 0U,
  statement_start = 1U << 1U,  ///< also of the arms of a `specialize`
  clause_start =
      1U << 2U,           ///< `where`, `mesh`, `grid` of an item's head; `compute` of a pipeline: not indented further
  block_open = 1U << 3U,  ///< a brace around statements or arms
  block_close = 1U << 4U,
  item_block = 1U << 5U,     ///< with block_open: the body of an item
  loose_block = 1U << 6U,    ///< with block_open: may stand on a line of its own
  prefix = 1U << 7U,         ///< `-` of `-x`
  binary = 1U << 8U,         ///< an operator between operands
  tight = 1U << 9U,          ///< no space on either side: `<` of generics, `:` of an index
  tight_before = 1U << 10U,  ///< no space before: `(` of a call, `[` of an index
  list_open = 1U << 11U,     ///< a bracket around elements
  list_close = 1U << 12U,
  roomy = 1U << 13U,          ///< with list_open, list_close: a space inside (`union { … }`)
  element_start = 1U << 14U,  ///< of a parameter or an allocation
  aligned = 1U << 15U,        ///< the second column of such an element: the name behind `in`, the type behind `name:`
};
using Roles = std::uint32_t;

/// Calls `mark(offset, role)` for the tokens of the item; a token may have several roles.
void find_roles(grammar::PkParser::ItemContext& item, const std::function<void(std::size_t, Role)>& mark);

}  // namespace pk
