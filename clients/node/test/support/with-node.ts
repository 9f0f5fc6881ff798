// Compiled with the types of a Node program: what the platform's types have, and this package's stand-ins lack.
import { Client, createFetch } from "postern-auth";

export async function usage(signal: AbortSignal): Promise<void> {
  const plain: typeof fetch = createFetch();
  const whole: Response = await plain("invoices", { signal });
  (await whole.bytes()).byteLength.toFixed();
  (await (await createFetch()("invoices")).bytes()).byteLength.toFixed();
  await new Client({
    delegates: {
      onPolicyAdviceReceived(_, context) {
        context.signal.throwIfAborted();
        return { satisfied: true };
      },
    },
  }).getInfo({}, { signal });
}
