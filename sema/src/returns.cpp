#include "returns.h"

namespace pk::sema {
namespace {

bool statement_returns(const ast::Ast& tree, const ast::Stmt& stmt) {
  return std::visit(
      [&](const auto& node) -> bool {
        using Node = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<Node, ast::Return>) return true;
        if constexpr (std::is_same_v<Node, ast::If>) {
          return contains_return(tree, node.then) || (node.otherwise && contains_return(tree, *node.otherwise));
        }
        if constexpr (std::is_same_v<Node, ast::Specialize>) {
          for (const ast::Arm& arm : node.arms) {
            if (contains_return(tree, arm.body)) return true;
          }
        }
        if constexpr (requires { node.body; }) return contains_return(tree, node.body);
        if constexpr (requires { node.block; }) return contains_return(tree, node.block);
        return false;
      },
      stmt.node);
}

}  // namespace

bool contains_return(const ast::Ast& tree, const ast::Block& block) {
  for (const ast::StmtId id : block.stmts) {
    if (statement_returns(tree, tree[id])) return true;
  }
  return false;
}

bool returns_only_at_end(const ast::Ast& tree, const ast::Block& body) {
  for (std::size_t i = 0; i < body.stmts.size(); ++i) {
    const ast::Stmt& stmt = tree[body.stmts[i]];
    const bool last = i + 1 == body.stmts.size();
    if (last && std::holds_alternative<ast::Return>(stmt.node)) return true;
    if (statement_returns(tree, stmt)) return false;
  }
  return true;
}

}  // namespace pk::sema
