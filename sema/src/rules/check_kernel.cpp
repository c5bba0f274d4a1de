// The rules on elaborated IR, in order: who gets where, what fits, which protocols hold.

#include "barriers.h"
#include "blocks.h"
#include "divergence.h"
#include "protocol.h"
#include "rules.h"
#include "shared_memory.h"
#include "uniformity.h"

namespace pk::sema::rules {

int check_kernel(const ir::Kernel& kernel, const ir::Target& target, Diagnostics& diags) {
  const int before = diags.error_count();
  Uniformity uniformity(kernel);
  uniformity.run([&](const ir::Inst& inst, const Arrivals& arrivals) {
    return check_arrivals(kernel, uniformity, inst, arrivals, diags);
  });
  check_shared_memory(kernel, uniformity, target, diags);
  // Threads that do not meet where they should break protocols as well; one mistake, one error.
  if (diags.error_count() == before) {
    check_protocol(kernel, uniformity, diags);
    check_barriers(kernel, uniformity, diags);
    check_store_blocks(kernel, uniformity, diags);
  }
  return diags.error_count() - before;
}

}  // namespace pk::sema::rules
