#include "item_parser.h"

#include "syntax_errors.h"

namespace pk {

namespace {

/// Makes strings of unterminated ones, which are reported and have swallowed the rest of their line. Returns whether
/// there are.
bool mend_strings(const TokenList& tokens) {
  bool any = false;
  for (const auto& token : tokens) {
    if (token->getType() != grammar::PkLexer::UNTERMINATED_STRING) continue;
    token->setType(grammar::PkLexer::STRING);
    any = true;
  }
  return any;
}

}  // namespace

using antlr4::atn::PredictionMode;

ParsedItem::ParsedItem(const Sources& sources, FileId file, TokenList tokens, Diagnostics& all_diags) {
  Diagnostics unseen;
  broken_ = mend_strings(tokens);
  Diagnostics& diags = broken_ ? unseen : all_diags;
  BracketCheck brackets = check_brackets(sources, file, tokens, diags);
  if (brackets.too_deep) {
    broken_ = true;
    return;
  }
  std::vector<std::unique_ptr<antlr4::Token>> list(std::make_move_iterator(tokens.begin()),
                                                   std::make_move_iterator(tokens.end()));
  machine_.emplace(std::move(list));
  grammar::PkParser& parser = machine_->parser;
  auto& simulator = *parser.getInterpreter<antlr4::atn::ParserATNSimulator>();
  parser.removeErrorListeners();
  // First as if there were no errors, with the fast kind of prediction; only when that fails with everything.
  simulator.setPredictionMode(PredictionMode::SLL);
  parser.setErrorHandler(std::make_shared<antlr4::BailErrorStrategy>());
  try {
    root_ = parser.file();
    return;
  } catch (const antlr4::ParseCancellationException&) {
    machine_->stream.fill();  // reports look behind the error, too
    machine_->stream.seek(0);
  }
  const auto strategy = std::make_shared<ErrorStrategy>(sources, file, brackets, diags);
  parser.reset();
  simulator.setPredictionMode(PredictionMode::LL);
  parser.setErrorHandler(strategy);
  root_ = parser.file();
  strategy->finish(parser);
  broken_ = true;
  parser.setErrorHandler(std::make_shared<antlr4::BailErrorStrategy>());
}

}  // namespace pk
