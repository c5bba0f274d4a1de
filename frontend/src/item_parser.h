#pragma once
// Tokens of one item to ANTLR's parse tree, with errors that people can read. Private to frontend: parse() and the
// formatter use it.

#include <PkParser.h>

#include "lex.h"

namespace pk {

/// The parse tree of one item, and what it points into. SLL prediction first, which is fast and nearly always enough; full
/// LL, with error recovery, when that fails.
class ParsedItem {
 public:
  ParsedItem(const Sources& sources, FileId file, ItemTokens item, Diagnostics& diags);
  ParsedItem(const ParsedItem&) = delete;
  ParsedItem& operator=(const ParsedItem&) = delete;

  /// Null if the text is nothing like an item.
  [[nodiscard]] grammar::PkParser::ItemContext* item() const { return root_->item(); }
  /// Whether the item has syntax errors. They are reported, but for those behind unmatched brackets.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  antlr4::ListTokenSource source_;
  antlr4::CommonTokenStream stream_;
  grammar::PkParser parser_;
  grammar::PkParser::FileContext* root_ = nullptr;
  bool broken_;
};

}  // namespace pk
