#include "syntax_errors.h"

#include <fmt/format.h>

#include <algorithm>

namespace pk {
namespace {

using antlr4::misc::IntervalSet;
using grammar::PkParser;

bool has(const IntervalSet& set, std::size_t type) { return set.contains(static_cast<ssize_t>(type)); }

std::string join(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

/// Tokens that go on with an expression that could as well end: not worth naming beside what must come.
bool continues_expression(std::size_t type) {
  switch (type) {
    case PkParser::DOT: case PkParser::LBRACKET: case PkParser::LPAREN: case PkParser::LANGLE: case PkParser::AS: return true;
    default: return type >= PkParser::SHL && type <= PkParser::TILDE && type != PkParser::ASSIGN && type != PkParser::GT;
  }
}
bool is_word(std::size_t type) { return type == PkParser::MESH || type == PkParser::TEST || (type >= PkParser::ACC && type <= PkParser::WG); }

/// What may stand at a place, in the words of a user.
std::string describe(const PkParser& parser, const IntervalSet& wanted) {
  std::vector<std::string> out;
  const bool expression = has(wanted, PkParser::INT);
  const bool statement = has(wanted, PkParser::LET);
  const bool name = has(wanted, PkParser::ID);
  const bool operators = has(wanted, PkParser::PLUS);
  const bool block = has(wanted, PkParser::LBRACE);
  if (statement) return "a statement";
  if (expression) {
    out.emplace_back("an expression");
  } else if (name) {
    out.emplace_back("a name");
  }
  for (const ssize_t element : wanted.toList()) {
    const auto type = static_cast<std::size_t>(element);
    if (element < 0 || type == PkParser::ID) continue;
    if (expression && (type == PkParser::LPAREN || type == PkParser::LBRACKET || type == PkParser::LAUNCH)) continue;
    if ((name || expression) && is_word(type)) continue;
    if ((operators || expression) && continues_expression(type)) continue;
    if (operators && type == PkParser::GT && !has(wanted, PkParser::LAST_COMMA)) continue;
    if (type >= PkParser::SHL_ASSIGN && type <= PkParser::XOR_ASSIGN && type != PkParser::SHL) continue;
    const std::string literal = parser.getVocabulary().getLiteralName(type);
    const bool keyword_expression = expression && !literal.empty() && literal.size() > 3 && literal[1] >= 'a' && literal[1] <= 'z';
    if (literal.empty() || keyword_expression) continue;
    out.push_back(fmt::format("`{}`", std::string_view(literal).substr(1, literal.size() - 2)));
  }
  if (out.empty() && operators) return "an operator";
  if (block && out.size() > 3) return "`{`";
  return out.size() > 5 ? std::string() : join(out);
}

}  // namespace

void ErrorStrategy::sync(antlr4::Parser* parser) {
  const std::size_t here = parser->getCurrentToken()->getTokenIndex();
  if (here != synced_token_) {
    synced_token_ = here;
    synced_state_ = parser->getState();
    synced_context_ = parser->getContext();
  }
  if (parser->getContext()->getRuleIndex() != PkParser::RuleBlock) return;
  // In a block, whatever begins no statement is skipped here: once the loop over statements is left there is no way back.
  const antlr4::atn::ATN& atn = parser->getATN();
  const IntervalSet& next = atn.nextTokens(atn.states[parser->getState()]);
  const auto at_end = [&] { return parser->getCurrentToken()->getType() == antlr4::Token::EOF; };
  while (!at_end() && !has(next, parser->getCurrentToken()->getType())) {
    const std::size_t start = parser->getCurrentToken()->getTokenIndex();
    reportError(parser, antlr4::InputMismatchException(parser));
    skip_statement(*parser, start);
    if (parser->getCurrentToken()->getTokenIndex() == start) parser->consume();
  }
}

antlr4::Token* ErrorStrategy::recoverInline(antlr4::Parser* parser) { throw antlr4::InputMismatchException(parser); }

void ErrorStrategy::reportError(antlr4::Parser* parser, const antlr4::RecognitionException& e) {
  if (inErrorRecoveryMode(parser)) return;
  beginErrorCondition(parser);
  any_ = true;
  semicolon_missing_ = false;
  report(*parser, *e.getOffendingToken());
}

void ErrorStrategy::recover(antlr4::Parser* parser, std::exception_ptr e) {
  antlr4::ParserRuleContext& context = *parser->getContext();
  const std::size_t start = context.getStart()->getTokenIndex();
  switch (context.getRuleIndex()) {
    case PkParser::RuleStmt:
      if (!semicolon_missing_) skip_statement(*parser, start);
      break;
    case PkParser::RuleArm: skip_arm(*parser, start); break;
    case PkParser::RuleBlock: return;   // its brace is missing
    case PkParser::RuleItem: case PkParser::RuleFile:
      while (parser->getCurrentToken()->getType() != antlr4::Token::EOF) parser->consume();
      break;
    default: std::rethrow_exception(e);
  }
  semicolon_missing_ = false;
  endErrorCondition(parser);
}

/// Goes behind the statement that begins at token `start`: its semicolon, or before the block that belongs to it, which is read
/// as a block of its own, or before the brace that ends the block around it.
void ErrorStrategy::skip_statement(antlr4::Parser& parser, std::size_t start) {
  const int depth = brace_depth(parser, start);
  const bool arms = parser.getTokenStream()->get(start)->getType() == PkParser::SPECIALIZE;
  for (;; parser.consume()) {
    const antlr4::Token& token = *parser.getCurrentToken();
    const std::size_t type = token.getType();
    if (type == antlr4::Token::EOF) return;
    if (brace_depth(parser, token.getTokenIndex()) > depth) {
      // Inside the arms of a `specialize`: leave with the brace that closes them.
      const bool last = type == PkParser::RBRACE && brace_depth(parser, token.getTokenIndex() + 1) == depth;
      if (!last || !arms) continue;
      parser.consume();
      return;
    }
    if (type == PkParser::RBRACE) return;
    if (type == PkParser::LBRACE && !arms && token.getTokenIndex() != start) return;
    if (type == PkParser::SEMI) {
      parser.consume();
      return;
    }
  }
}

/// Goes behind the block of the arm that begins at token `start`, or before the brace that ends the arms.
void ErrorStrategy::skip_arm(antlr4::Parser& parser, std::size_t start) {
  const int depth = brace_depth(parser, start);
  for (;; parser.consume()) {
    const antlr4::Token& token = *parser.getCurrentToken();
    if (token.getType() == antlr4::Token::EOF) return;
    if (token.getType() != PkParser::RBRACE) continue;
    const int here = brace_depth(parser, token.getTokenIndex());
    if (here <= depth) return;
    if (here == depth + 1) break;
  }
  parser.consume();
  if (parser.getCurrentToken()->getType() == PkParser::COMMA || parser.getCurrentToken()->getType() == PkParser::LAST_COMMA) parser.consume();
}

int ErrorStrategy::brace_depth(antlr4::Parser& parser, std::size_t token) {
  if (depths_.empty()) {
    auto& stream = *dynamic_cast<antlr4::BufferedTokenStream*>(parser.getTokenStream());
    stream.fill();
    int depth = 0;
    for (const antlr4::Token* t : stream.getTokens()) {
      depths_.push_back(depth);
      if (t->getType() == PkParser::LBRACE) ++depth;
      if (t->getType() == PkParser::RBRACE) --depth;
    }
  }
  return token < depths_.size() ? depths_[token] : depths_.back();
}

bool ErrorStrategy::muted(const antlr4::Token& token) const {
  const std::size_t index = token.getTokenIndex();
  const auto range = std::lower_bound(brackets_.damage.begin(), brackets_.damage.end(), index,
                                      [](const auto& r, std::size_t i) { return r.second < i; });
  return range != brackets_.damage.end() && range->first <= index;
}

IntervalSet ErrorStrategy::expected(antlr4::Parser& parser) const {
  if (parser.getCurrentToken()->getTokenIndex() != synced_token_) return parser.getExpectedTokens();
  return parser.getATN().getExpectedTokens(synced_state_, synced_context_);
}

bool ErrorStrategy::new_line_between(const antlr4::Token& a, const antlr4::Token& b) const {
  const Span gap{file_, token_span(file_, a).end, token_span(file_, b).begin};
  return sources_.text(gap).find('\n') != std::string_view::npos;
}

bool ErrorStrategy::report_missing_semicolon(const IntervalSet& wanted, const antlr4::Token* previous, const antlr4::Token& token) {
  const bool ended = token.getType() == antlr4::Token::EOF || token.getType() == PkParser::RBRACE;
  if (!has(wanted, PkParser::SEMI) || previous == nullptr || (!ended && !new_line_between(*previous, token))) return false;
  const std::uint32_t end = token_span(file_, *previous).end;
  const std::string_view text = sources_.text(file_);
  const bool room = end < text.size() && text[end] != '\n' && text[end] != '\r';
  diags_.report<diag::syntax_error>(Span{file_, end, room ? end + 1 : end}, "expected `;` after this statement")
      .at("`;` is missing here")
      .fix("add the semicolon", {{Span{file_, end, end}, ";"}});
  semicolon_missing_ = true;
  return true;
}

void ErrorStrategy::report(antlr4::Parser& parser, const antlr4::Token& token) {
  // An `else` that begins a statement belongs to an `if` whose error is reported.
  if (muted(token) || (token.getType() == PkParser::ELSE && reported_)) return;
  reported_ = true;
  const IntervalSet wanted = expected(parser);
  const antlr4::Token* previous = token.getTokenIndex() > 0 ? parser.getTokenStream()->get(token.getTokenIndex() - 1) : nullptr;
  if (report_missing_semicolon(wanted, previous, token)) return;
  const bool at_end = token.getType() == antlr4::Token::EOF;
  const Span at = token_span(file_, at_end && previous != nullptr ? *previous : token);
  const std::string found = at_end ? "the end of the item" : fmt::format("`{}`", token.getText());
  const std::string words = describe(static_cast<PkParser&>(parser), wanted);
  diags_.report<diag::syntax_error>(at, words.empty() ? fmt::format("unexpected {}", found)
                                                      : fmt::format("expected {}, found {}", words, found));
}

}  // namespace pk
