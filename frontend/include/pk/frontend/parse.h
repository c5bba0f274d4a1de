#pragma once
// Text to tree. The only headers of ANTLR's are behind this one.

#include <string>

#include "pk/frontend/ast.h"
#include "pk/frontend/diagnostics.h"

namespace pk {

/// Parses `file`. Always returns a tree: what did not parse is missing or stands as ErrorExpr / ErrorStmt, and is
/// reported (PK01xx). Never throws, never crashes: nesting is limited (PK0107), text must be UTF-8 without NUL.
[[nodiscard]] ast::Ast parse(const Sources& sources, FileId file, Diagnostics& diags);

/// The tree as indented text, for `pkc build --emit=ast`.
[[nodiscard]] std::string print_ast(const Sources& sources, const ast::Ast& tree);

/// `file` in the canonical format; comments are kept. Needs a file without syntax errors: returns an Error otherwise.
[[nodiscard]] Result<std::string> format_source(const Sources& sources, FileId file);

}  // namespace pk
