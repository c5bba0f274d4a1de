#include "commands.h"

int main(int argc, char** argv) {
  CLI::App app("pkc: checks, tests and compiles pk kernels", "pkc");
  app.require_subcommand(1);
  app.set_version_flag("--version", "pkc 0.1.0");
  pk::tools::Action action;
  pk::tools::add_check(app, action);
  pk::tools::add_build(app, action);
  pk::tools::add_test(app, action);
  pk::tools::add_run(app, action);
  pk::tools::add_fmt(app, action);
  pk::tools::add_explain(app, action);
  pk::tools::add_doc(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? pk::tools::ok : pk::tools::usage;
  }
  return action();
}
