public import PosternJSON
public import PosternJSONRPC

/// `authenticate`: a login at an access manager, step by step.
public enum Authenticate: RPCMethod {
  public static let name = "authenticate"
  public static let bounds: PeerBounds = .issuers
  public static let summary = "Logs a user in at an access manager, step by step"
  public static let explanation =
    "Begin with issuer and service or tree (the realm's default without), go on with continuation and callbacks. Callbacks come as the access manager sent them and go back with their inputs filled in: as many, in the same order. A step without inputs (a wait, a text) is taken on with its continuation alone."
  public static let resultSummary = "The next questions, or the outcome"
  public static let errors: [RPCErrorCode] = RPCErrorCode.journeys

  public struct Params: RPCObject {
    public var issuer: String?
    public var service: String?
    public var tree: String?
    public var answers: JSONValue?
    public var noSession: Bool?
    public var forceAuth: Bool?
    public var continuation: String?
    public var callbacks: [JSONValue]?

    public static let memberDocs = [
      "issuer": "A configured issuer with an access manager; needed to begin",
      "service": "The tree or chain to walk; at most one of service and tree",
      "tree": "The tree to walk",
      "answers":
        "Answers by callback type, number (_id), input name or id, given without asking; a choice by its index or its text, an object fills several inputs. RedirectCallback: the URL that it led back to; SuspendedTextOutputCallback, or suspendedId to begin with: the link's URL",
      "noSession": "Whether the login is only tried: no session comes of it",
      "forceAuth": "Whether the user has to authenticate although they are logged in",
      "continuation": "The continuation of the step; excludes issuer, service and tree",
      "callbacks": "The step's callbacks with their inputs filled in",
    ]
  }

  public typealias Result = JourneyResult
}
