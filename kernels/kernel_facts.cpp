#include "kernels/kernel_facts.hpp"

namespace overlap {

ParameterValues default_values(const Kernel& kernel) {
  ParameterValues values;
  for (const Parameter& parameter : kernel.parameters()) {
    values.push_back(parameter.default_value);
  }
  return values;
}

KernelFacts facts_of(const Kernel& kernel) {
  const ParameterValues values = default_values(kernel);
  KernelFacts facts;
  facts.takes_table = kernel.table_bytes(values) != 0 || !kernel.table_help().empty();
  const PlanOrRefusal planned = kernel.plan(values, kernel.granule_bytes(values));
  // A kernel whose defaults alone do not run says nothing about itself.
  if (const auto* const plan = std::get_if<Plan>(&planned)) {
    facts.is_stateful = plan->state_bytes != 0;
    facts.output_size = plan->output_size;
    facts.paths = plan->paths;
  }
  return facts;
}

}  // namespace overlap
