#include "item_parser.h"

#include <fmt/format.h>

#include "ast_builder.h"

namespace pk {
namespace {

using grammar::PkParser;

/// Turns ANTLR's reports into readable ones, one for each statement.
class ErrorListener final : public antlr4::BaseErrorListener {
 public:
  ErrorListener(const Sources& sources, FileId file, Diagnostics& diags, bool muted)
      : sources_(sources), file_(file), diags_(diags), muted_(muted) {}

  [[nodiscard]] int count() const { return count_; }

  void syntaxError(antlr4::Recognizer* recognizer, antlr4::Token* token, std::size_t, std::size_t, const std::string&,
                   std::exception_ptr) override {
    ++count_;
    if (muted_) return;
    auto& parser = *static_cast<PkParser*>(recognizer);
    const int statement = statement_number(parser, token->getTokenIndex());
    if (statement == last_statement_) return;
    last_statement_ = statement;
    report(parser, *token);
  }

 private:
  /// Statements before token `index`, counted by what ends one.
  static int statement_number(PkParser& parser, std::size_t index) {
    int number = 0;
    for (std::size_t i = 0; i < index; ++i) {
      const std::size_t type = parser.getTokenStream()->get(i)->getType();
      if (type == PkParser::SEMI || type == PkParser::LBRACE || type == PkParser::RBRACE) ++number;
    }
    return number;
  }

  void report(PkParser& parser, const antlr4::Token& token) {
    const antlr4::misc::IntervalSet expected = parser.getExpectedTokens();
    const antlr4::Token* previous = token.getTokenIndex() > 0 ? parser.getTokenStream()->get(token.getTokenIndex() - 1) : nullptr;
    const bool at_end = token.getType() == antlr4::Token::EOF;
    const Span at = at_end && previous != nullptr ? after(*previous) : token_span(file_, token);
    const std::string found = at_end ? "the end of the item" : fmt::format("`{}`", token.getText());
    const bool new_line = previous != nullptr && previous->getLine() < token.getLine();
    if (expected.contains(static_cast<std::size_t>(PkParser::SEMI)) && previous != nullptr &&
        (new_line || at_end || token.getType() == PkParser::RBRACE)) {
      diags_.report<diag::syntax_error>(after(*previous), "expected `;` after this statement")
          .at("`;` is missing here")
          .fix("add the semicolon", {{Span{file_, after(*previous).begin, after(*previous).begin}, ";"}});
      return;
    }
    const std::vector<std::string> wanted = spellings(parser, expected);
    if (wanted.size() <= 4 && !wanted.empty()) {
      diags_.report<diag::syntax_error>(at, fmt::format("expected {}, found {}", join(wanted), found));
      return;
    }
    auto report = diags_.report<diag::syntax_error>(at, fmt::format("unexpected {}", found));
    if (expected.contains(static_cast<std::size_t>(PkParser::INT))) {
      report.at("expected an expression");
    } else if (expected.contains(static_cast<std::size_t>(PkParser::ID))) {
      report.at("expected a name");
    }
  }

  /// Just behind `token`: a caret under the gap.
  [[nodiscard]] Span after(const antlr4::Token& token) const {
    const std::uint32_t end = token_span(file_, token).end;
    const bool more = end < sources_.text(file_).size() && sources_.text(file_)[end] != '\n';
    return {file_, end, more ? end + 1 : end};
  }
  static std::vector<std::string> spellings(PkParser& parser, const antlr4::misc::IntervalSet& set) {
    std::vector<std::string> out;
    const bool any_name = set.contains(static_cast<std::size_t>(PkParser::ID));
    if (any_name) out.emplace_back("a name");
    for (const ssize_t type : set.toList()) {
      if (type == static_cast<ssize_t>(antlr4::Token::EOF) || type == PkParser::ID) continue;
      const bool soft = type >= PkParser::ACC && type <= PkParser::WG;
      if (any_name && (soft || type == PkParser::MESH || type == PkParser::TEST)) continue;
      const std::string literal = parser.getVocabulary().getLiteralName(static_cast<std::size_t>(type));
      if (!literal.empty()) out.push_back(fmt::format("`{}`", literal.substr(1, literal.size() - 2)));
    }
    return out;
  }
  static std::string join(const std::vector<std::string>& words) {
    std::string out;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
      out += words[i];
    }
    return out;
  }

  const Sources& sources_;
  FileId file_;
  Diagnostics& diags_;
  bool muted_;
  int last_statement_ = -1;
  int count_ = 0;
};

}  // namespace

ParsedItem::ParsedItem(const Sources& sources, FileId file, ItemTokens item, Diagnostics& diags)
    : source_(std::move(item.tokens)), stream_(&source_), parser_(&stream_), broken_(item.broken) {
  auto& simulator = *parser_.getInterpreter<antlr4::atn::ParserATNSimulator>();
  parser_.removeErrorListeners();
  simulator.setPredictionMode(antlr4::atn::PredictionMode::SLL);
  parser_.setErrorHandler(std::make_shared<antlr4::BailErrorStrategy>());
  try {
    root_ = parser_.file();
    return;
  } catch (const antlr4::ParseCancellationException&) {
    stream_.seek(0);
  }
  ErrorListener listener(sources, file, diags, /*muted=*/broken_);
  parser_.reset();
  simulator.setPredictionMode(antlr4::atn::PredictionMode::LL);
  parser_.setErrorHandler(std::make_shared<antlr4::DefaultErrorStrategy>());
  parser_.addErrorListener(&listener);
  root_ = parser_.file();
  broken_ = broken_ || listener.count() > 0;
  parser_.removeErrorListeners();
}

}  // namespace pk
