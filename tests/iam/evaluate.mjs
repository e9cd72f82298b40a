// Asks IAM's rules, without AWS, whether requests are allowed. Standard input has a list of them, each with its policies;
// standard output gets the list of answers: "Allowed", "ExplicitlyDenied" or "ImplicitlyDenied". What cannot be evaluated as it is
// meant (an action that there is not, a condition that the action does not know, a policy that is none) ends this with an error.
import { runSimulation } from "@cloud-copilot/iam-simulate";
import { readFileSync } from "node:fs";

// The evaluator knows no key of an encryption context. A tag of the principal is compared in the same way.
const context = /kms:EncryptionContext:([a-z:]+)/g;
const asked = readFileSync(0, "utf8").replace(context, (_, name) => `aws:PrincipalTag/${name.replaceAll(":", "-")}`);
const answers = [];
for (const request of JSON.parse(asked)) {
  const { principal, action, resource, account, identity, bucket, context } = request;
  const simulation = {
    request: { principal, action, resource: { resource, accountId: account }, contextVariables: context },
    identityPolicies: identity === null ? [] : [{ name: "role", policy: identity }],
    serviceControlPolicies: [],
    resourceControlPolicies: [],
    resourcePolicy: bucket ?? undefined,
  };
  const answer = await runSimulation(simulation, {});
  const told = JSON.stringify(request);
  if (answer.resultType === "error") throw new Error(`${JSON.stringify(answer.errors)}: ${told}`);
  if (answer.resultType !== "single") throw new Error(`more than one resource: ${told}`);
  const ignored = answer.result.ignoredContextKeys ?? [];
  if (ignored.length > 0) throw new Error(`${ignored.join(", ")} does not belong to ${action}: ${told}`);
  answers.push(answer.overallResult);
}
process.stdout.write(JSON.stringify(answers));
