#include "pk/frontend/parse.h"

#include "ast_builder.h"
#include "item_parser.h"
#include "split_items.h"

namespace pk {

ast::Ast parse(const Sources& sources, FileId file, Diagnostics& diags) {
  ast::Ast tree;
  tree.file = file;
  try {
    Lexer lexer(sources, file);
    for (ItemTokens& item : split_items(sources, file, lexer.tokens(diags), diags)) {
      const ParsedItem parsed(sources, file, std::move(item.tokens), diags);
      if (parsed.item() != nullptr)
        build_item(sources, tree, *parsed.item(), std::move(item.doc), parsed.broken(), diags);
    }
  } catch (const std::exception& e) {
    internal_error(__FILE__, __LINE__, e.what());
  }
  return tree;
}

}  // namespace pk
