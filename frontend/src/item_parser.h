#pragma once
// Tokens of one item to ANTLR's parse tree. Private to frontend: parse() and the formatter use it.

#include <PkParser.h>

#include <optional>

#include "split_items.h"

namespace pk {

/// The parse tree of one item, and what it points into.
class ParsedItem {
 public:
  ParsedItem(const Sources& sources, FileId file, TokenList tokens, Diagnostics& all_diags);
  ParsedItem(const ParsedItem&) = delete;
  ParsedItem& operator=(const ParsedItem&) = delete;

  /// Null if the text is nothing like an item, or nested too deeply.
  [[nodiscard]] grammar::PkParser::ItemContext* item() const { return root_ == nullptr ? nullptr : root_->item(); }
  /// Whether the item has syntax errors; they are reported.
  [[nodiscard]] bool broken() const { return broken_; }

 private:
  /// What parsing needs and the tree refers to.
  struct Machine {
    explicit Machine(std::vector<std::unique_ptr<antlr4::Token>> tokens)
        : source(std::move(tokens)), stream(&source), parser(&stream) {}
    antlr4::ListTokenSource source;
    antlr4::CommonTokenStream stream;
    grammar::PkParser parser;
  };
  std::optional<Machine> machine_;
  grammar::PkParser::FileContext* root_ = nullptr;
  bool broken_ = false;
};

}  // namespace pk
