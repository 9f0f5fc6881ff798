public import PosternJSON
import PosternJSONRPC

/// `explainCall`: what a call would come to, and why.
public enum ExplainCall: RPCMethod {
  public static let name = "explainCall"
  public static let bounds: PeerBounds = .all
  public static let chain: ChainRule = .checked
  public static let traits: MethodTraits = [.needsNoSlot, .needsNoApproval]
  public static let summary = "Shows what a call would come to, and why, without carrying it out"
  public static let explanation =
    "Nothing is sent, counted or recorded, and no secret is shown. Only what this connection may see is named."
  public static let resultSummary = "Whether the call would be carried out, and each step that decides that"

  public struct Params: RPCObject {
    public var method: String
    public var params: JSONValue?

    public static let memberDocs = [
      "method": "The method of the call",
      "params": "The params of the call; an object",
    ]
  }

  public struct Result: RPCObject {
    public var allowed: Bool
    public var steps: [ExplanationStep]

    public init(allowed: Bool, steps: [ExplanationStep]) {
      self.allowed = allowed
      self.steps = steps
    }

    public static let memberDocs = [
      "allowed": "Whether the call would be carried out, as far as is known without a request",
      "steps": "The steps that decide it, in the order in which a call passes them",
    ]
  }
}

/// One step of a call in an explanation.
public struct ExplanationStep: RPCObject {
  /// The outcome of a step.
  public enum Verdict: String, SchemaEnumeration, Sendable {
    /// The call passes.
    case passes
    /// The call would be rejected here.
    case rejects
    /// It depends on a server, or on what happens until then.
    case open
  }

  public var step: String
  public var verdict: Verdict
  public var summary: String
  public var details: [String: JSONValue]?
  public var errorCode: Int?

  public init(
    step: String, verdict: Verdict, summary: String, details: [String: JSONValue]? = nil, errorCode: Int? = nil
  ) {
    self.step = step
    self.verdict = verdict
    self.summary = summary
    self.details = details
    self.errorCode = errorCode
  }

  public static let memberDocs = [
    "step":
      "The step's name, such as `peerRule`, `endpoint`, `rate`, `concurrency`, `resource`, `url`, `token`, `outbound`, `sandbox`",
    "verdict": "Whether the call passes it",
    "summary": "Why, for people",
    "details": "The values that decide it, by name",
    "errorCode": "The code of the error that the call would end with; with `rejects` only",
  ]
}
