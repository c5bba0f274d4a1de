#pragma once
// Turns ANTLR's parse tree of one item into the syntax tree. Private to frontend; parse.cpp is the only user.

#include <PkParser.h>

#include "pk/frontend/ast.h"
#include "pk/frontend/diagnostics.h"

namespace pk {

/// Deepest expression, and longest `else if` chain, that later recursive walks have to face.
inline constexpr int max_tree_depth = 1000;
inline constexpr int max_else_ifs = 200;

/// Where an ANTLR token stands: its indices count bytes (see ByteStream).
[[nodiscard]] inline Span token_span(FileId file, const antlr4::Token& token) {
  return {file, static_cast<std::uint32_t>(token.getStartIndex()), static_cast<std::uint32_t>(token.getStopIndex() + 1)};
}

/// Appends the item to `tree`. Parts that did not parse are absent; the caller marks such items as broken.
void build_item(const Sources& sources, ast::Ast& tree, grammar::PkParser::ItemContext& item, std::string doc, bool broken,
                Diagnostics& diags);

}  // namespace pk
