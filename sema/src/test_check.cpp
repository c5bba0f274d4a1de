#include "test_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "builtins.h"
#include "pk/ir/dtype.h"
#include "suggest.h"

namespace pk::sema {
namespace {

class TestChecker {
 public:
  TestChecker(const Module& module, Diagnostics& diags) : module_(module), tree_(module.main().tree), diags_(diags) {}

  void block(const ast::Block& node) {
    const std::size_t base = names_.size();
    const std::size_t outer = std::exchange(block_base_, base);
    for (const ast::StmtId id : node.stmts) statement(tree_[id]);
    names_.resize(base);
    block_base_ = outer;
  }

 private:
  void declare(const ast::Name& name) {
    if (!name.present()) return;
    for (std::size_t i = block_base_; i < names_.size(); ++i) {
      if (names_[i].text != name.text) continue;
      diags_.report<diag::duplicate_name>(name.span, name.text)
          .label(names_[i].span, "first defined here")
          .help("choose another name");
      break;
    }
    names_.push_back(name);
  }

  [[nodiscard]] bool is_local(std::string_view name) const {
    return std::any_of(names_.begin(), names_.end(), [name](const ast::Name& n) { return n.text == name; });
  }

  void statement(const ast::Stmt& stmt) {
    std::visit(
        [&](const auto& node) {
          using Node = std::decay_t<decltype(node)>;
          if constexpr (std::is_same_v<Node, ast::Let>) {
            expression(node.init);
            for (const ast::Name& name : node.names) declare(name);
          } else if constexpr (std::is_same_v<Node, ast::Const>) {
            expression(node.value);
            declare(node.name);
          } else if constexpr (std::is_same_v<Node, ast::Assign>) {
            expression(node.value);
            expression(node.target);
          } else if constexpr (std::is_same_v<Node, ast::ExprStmt>) {
            expression(node.expr);
          } else if constexpr (std::is_same_v<Node, ast::If>) {
            expression(node.condition);
            block(node.then);
            if (node.otherwise) block(*node.otherwise);
          } else if constexpr (std::is_same_v<Node, ast::For>) {
            expression(node.low);
            expression(node.high);
            expression(node.step);
            const std::size_t base = names_.size();
            const std::size_t outer = std::exchange(block_base_, base);
            declare(node.variable);
            block(node.body);
            names_.resize(base);
            block_base_ = outer;
          } else if constexpr (std::is_same_v<Node, ast::While>) {
            expression(node.condition);
            block(node.body);
          } else if constexpr (std::is_same_v<Node, ast::ExpectError>) {
            expression(node.code);
            block(node.block);
          } else if constexpr (std::is_same_v<Node, ast::BlockStmt> || std::is_same_v<Node, ast::Fast>) {
            block(node.block);
          } else if constexpr (std::is_same_v<Node, ast::Scoped> || std::is_same_v<Node, ast::Specialize> ||
                               std::is_same_v<Node, ast::Pipeline> || std::is_same_v<Node, ast::Step>) {
            diags_
                .report<diag::misplaced_statement>(
                    stmt.span, "a test runs on the host: scopes, threads and pipelines stand in kernels")
                .help("put it into a kernel and `launch` that");
          } else if constexpr (std::is_same_v<Node, ast::Return>) {
            diags_.report<diag::misplaced_statement>(stmt.span, "a test returns nothing")
                .help("state what is expected: `expect_equal(a, b)`");
          }
        },
        stmt.node);
  }

  void expression(ast::ExprId id) {
    if (!id.valid()) return;
    const ast::Expr& expr = tree_[id];
    std::visit(
        [&](const auto& node) {
          using Node = std::decay_t<decltype(node)>;
          if constexpr (std::is_same_v<Node, ast::NameExpr>) {
            name(node.name);
          } else if constexpr (std::is_same_v<Node, ast::Unary>) {
            expression(node.operand);
          } else if constexpr (std::is_same_v<Node, ast::Binary>) {
            expression(node.left);
            expression(node.right);
          } else if constexpr (std::is_same_v<Node, ast::Cast>) {
            expression(node.operand);
            if (!ir::parse_dtype(node.type.text)) unknown_type(node.type);
          } else if constexpr (std::is_same_v<Node, ast::IndexExpr>) {
            expression(node.base);
            for (const ast::Index& index : node.indices) {
              expression(index.first);
              expression(index.second);
            }
          } else if constexpr (std::is_same_v<Node, ast::Call>) {
            call(node);
          } else if constexpr (std::is_same_v<Node, ast::Launch>) {
            launch(node);
          } else if constexpr (std::is_same_v<Node, ast::Tuple> || std::is_same_v<Node, ast::SetExpr> ||
                               std::is_same_v<Node, ast::ListExpr>) {
            for (const ast::ExprId element : node.elements) expression(element);
          }
        },
        expr.node);
  }

  void unknown_type(const ast::Name& type) {
    std::vector<std::string> candidates;
    for (const ir::DtypeInfo& row : ir::dtype_table) candidates.emplace_back(row.spelling);
    auto builder = diags_.report<diag::unknown_type>(type.span, type.text);
    if (const auto near = closest(type.text, candidates)) builder.help(fmt::format("did you mean `{}`?", *near));
  }

  void name(const ast::Name& n) {
    if (is_local(n.text) || ir::parse_dtype(n.text) || module_.find(module_.main(), n.text)) return;
    std::vector<std::string> candidates;
    for (const ast::Name& local : names_) candidates.emplace_back(local.text);
    auto builder = diags_.report<diag::unknown_name>(n.span, n.text);
    if (const auto near = closest(n.text, candidates)) builder.help(fmt::format("did you mean `{}`?", *near));
  }

  void call(const ast::Call& node) {
    if (!node.callee.valid()) return;
    if (const auto* callee = std::get_if<ast::NameExpr>(&tree_[node.callee].node)) {
      const ast::Name& n = callee->name;
      const ItemRef item = is_local(n.text) ? ItemRef{} : module_.find(module_.main(), n.text);
      if (item) {
        called_item(item, n, node);
      } else if (!find_callable(n.text) && !is_test_only(n.text)) {
        std::vector<std::string> candidates = callable_names();
        for (std::string& known : test_only_names()) candidates.push_back(std::move(known));
        for (const auto& [known, unused] : module_.main().items) candidates.emplace_back(known);
        std::sort(candidates.begin(), candidates.end());
        auto builder = diags_.report<diag::unknown_function>(n.span, n.text);
        if (const auto near = closest(n.text, candidates)) builder.help(fmt::format("did you mean `{}`?", *near));
      }
    }
    // Options such as `rtol = 1e-5` are checked by the runner; words without a meaning of their own may stand there.
    for (const ast::Arg& arg : node.args) {
      if (!arg.name.present()) expression(arg.value);
    }
  }

  void called_item(const ItemRef& item, const ast::Name& n, const ast::Call& node) {
    if (const auto* function = std::get_if<ast::Function>(&item.item->node)) {
      if (function->params.size() == node.args.size()) return;
      diags_
          .report<diag::wrong_argument_count>(
              n.span, fmt::format("`{}` takes {} argument{}, not {}", n.text, function->params.size(),
                                  function->params.size() == 1 ? "" : "s", node.args.size()))
          .label(function->name.span, "defined here");
      return;
    }
    auto builder = diags_.report<diag::wrong_kind_of_name>(n.span, n.text, "not a function", "a function");
    if (std::holds_alternative<ast::Kernel>(item.item->node))
      builder.help(fmt::format("start it with `launch {}(…)`", n.text));
  }

  void launch(const ast::Launch& node) {
    const ItemRef item = module_.find(module_.main(), node.kernel.text);
    const auto* kernel = item ? std::get_if<ast::Kernel>(&item.item->node) : nullptr;
    for (const ast::Arg& arg : node.args) expression(arg.value);
    if (kernel == nullptr) {
      if (!node.kernel.present()) return;
      if (item) {
        diags_.report<diag::wrong_kind_of_name>(node.kernel.span, node.kernel.text, "not a kernel", "a kernel");
        return;
      }
      std::vector<std::string> candidates;
      for (const auto& [known, known_item] : module_.main().items) {
        if (std::holds_alternative<ast::Kernel>(known_item->node)) candidates.emplace_back(known);
      }
      std::sort(candidates.begin(), candidates.end());
      auto builder = diags_.report<diag::unknown_kernel>(node.kernel.span, node.kernel.text);
      if (const auto near = closest(node.kernel.text, candidates))
        builder.help(fmt::format("did you mean `{}`?", *near));
      return;
    }
    launch_generics(node, *kernel);
    std::vector<std::string> inputs;
    for (const ast::Param& param : kernel->params) {
      if (param.mode != ast::Mode::out) inputs.emplace_back(param.name.text);
    }
    bool named = false;
    for (const ast::Arg& arg : node.args) {
      if (!arg.name.present()) continue;
      named = true;
      if (std::find(inputs.begin(), inputs.end(), arg.name.text) != inputs.end()) continue;
      diags_.report<diag::unknown_argument>(arg.name.span, kernel->name.text, arg.name.text);
    }
    if (named || node.args.size() == inputs.size()) return;
    diags_
        .report<diag::wrong_argument_count>(
            node.kernel.span, fmt::format("`{}` takes {} argument{}, not {}", kernel->name.text, inputs.size(),
                                          inputs.size() == 1 ? "" : "s", node.args.size()))
        .label(kernel->name.span, "defined here")
        .note(inputs.empty() ? std::string("it has no inputs")
                             : fmt::format("its `in` and `inout` parameters are {}", quoted_list(inputs)));
  }

  void launch_generics(const ast::Launch& node, const ast::Kernel& kernel) {
    std::vector<std::string> known;
    for (const ast::Generic& generic : kernel.generics) known.emplace_back(generic.name.text);
    std::size_t positional = 0;
    for (const ast::Arg& arg : node.generics) {
      if (!arg.name.present()) {
        ++positional;
        if (positional == known.size() + 1) {
          diags_
              .report<diag::wrong_argument_count>(
                  tree_[arg.value].span, fmt::format("`{}` has {} generic parameter{}", kernel.name.text, known.size(),
                                                     known.size() == 1 ? "" : "s"))
              .label(kernel.name.span, "defined here");
        }
        continue;
      }
      if (std::find(known.begin(), known.end(), arg.name.text) != known.end()) continue;
      auto builder = diags_.report<diag::unknown_argument>(arg.name.span, kernel.name.text, arg.name.text);
      if (const auto near = closest(arg.name.text, known)) builder.help(fmt::format("did you mean `{}`?", *near));
    }
  }

  const Module& module_;
  const ast::Ast& tree_;
  Diagnostics& diags_;
  std::vector<ast::Name> names_;
  std::size_t block_base_ = 0;
};

}  // namespace

void check_test(const Module& module, const ast::Test& test, Diagnostics& diags) {
  TestChecker(module, diags).block(test.body);
}

}  // namespace pk::sema
