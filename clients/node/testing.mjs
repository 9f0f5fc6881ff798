// The one implementation, for `import`.
import testing from "./lib/testing/index.js";

export const { FakePostern, FetchResult, adviceRequired, failure } = testing;
