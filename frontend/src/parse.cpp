#include "pk/frontend/parse.h"

#include "ast_builder.h"
#include "item_parser.h"
#include "lex.h"

namespace pk {

ast::Ast parse(const Sources& sources, FileId file, Diagnostics& diags) {
  ast::Ast tree;
  tree.file = file;
  try {
    Lexer lexer(sources, file);
    for (ItemTokens& item : split_items(sources, file, lexer.tokens(diags), diags)) {
      std::string doc = std::move(item.doc);
      const ParsedItem parsed(sources, file, std::move(item), diags);
      if (parsed.item() != nullptr) build_item(sources, tree, *parsed.item(), std::move(doc), parsed.broken(), diags);
    }
  } catch (const std::exception& e) {
    internal_error(__FILE__, __LINE__, e.what());
  }
  return tree;
}

}  // namespace pk
