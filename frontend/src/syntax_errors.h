#pragma once
// What happens at syntax errors: one readable report for each statement, and where to go on. Private to frontend.

#include <PkParser.h>

#include "brackets.h"

namespace pk {

/// ANTLR's hooks for the second parse of an item, the one with errors. An exception leaves all rules up to the
/// statement (or the arm, or the item) around the error; there the text is skipped up to the next statement. Nothing is
/// guessed in between, but for a forgotten semicolon at the end of a line.
class ErrorStrategy final : public antlr4::DefaultErrorStrategy {
 public:
  ErrorStrategy(const Sources& sources, FileId file, BracketCheck& brackets, Diagnostics& diags)
      : sources_(sources), file_(file), brackets_(brackets), diags_(diags) {}

  /// Reports brackets without partner of which the parser did not complain.
  void finish(antlr4::Parser& parser);

  void sync(antlr4::Parser* parser) override;
  antlr4::Token* recoverInline(antlr4::Parser* parser) override;
  void reportError(antlr4::Parser* parser, const antlr4::RecognitionException& e) override;
  void recover(antlr4::Parser* parser, std::exception_ptr e) override;

 private:
  void report(antlr4::Parser& parser, const antlr4::Token& token);
  bool report_brackets(antlr4::Parser& parser, std::size_t token);
  void report_damage(antlr4::Parser& parser, const BracketDamage& damage);
  [[nodiscard]] antlr4::misc::IntervalSet expected(antlr4::Parser& parser) const;
  bool report_missing_semicolon(const antlr4::misc::IntervalSet& wanted, const antlr4::Token* previous,
                                const antlr4::Token& token);
  [[nodiscard]] bool stray_between(const antlr4::Token* previous, const antlr4::Token& token) const;
  [[nodiscard]] bool new_line_between(const antlr4::Token& a, const antlr4::Token& b) const;
  void skip_statement(antlr4::Parser& parser, std::size_t start);
  void skip_arm(antlr4::Parser& parser, std::size_t start);
  [[nodiscard]] int brace_depth(antlr4::Parser& parser, std::size_t token);

  const Sources& sources_;
  FileId file_;
  BracketCheck& brackets_;
  Diagnostics& diags_;
  bool reported_ = false;                       // an error of this item
  bool block_expected_ = false;                 // by the last error
  bool braces_lost_ = false;                    // a brace is missing: what follows in this item cannot be trusted
  bool semicolon_missing_ = false;              // the last error was that: nothing to skip
  std::size_t synced_token_ = ~std::size_t{0};  // the token of the first sync() since it became the current one,
  std::size_t synced_state_ = 0;  // and the parser's state and context then: what may follow is best seen there
  antlr4::ParserRuleContext* synced_context_ = nullptr;
  std::vector<int> depths_;  // open braces before each token
};

}  // namespace pk
