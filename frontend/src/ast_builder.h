#pragma once
// Turns ANTLR's parse tree of one item into the syntax tree. Private to frontend; parse.cpp is the only user.

#include <PkParser.h>

#include "pk/frontend/ast.h"
#include "pk/frontend/diagnostics.h"

namespace pk {

/// Appends the item to `tree`. Parts that did not parse are absent; the caller marks such items as broken.
void build_item(const Sources& sources, ast::Ast& tree, grammar::PkParser::ItemContext& item, std::string doc,
                bool broken, Diagnostics& diags);

}  // namespace pk
