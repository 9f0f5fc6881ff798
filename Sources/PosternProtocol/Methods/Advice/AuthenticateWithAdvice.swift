public import AuthEngine
public import PosternJSON
public import PosternSupport

/// `authenticateWithAdvice`: satisfies policy advice, step by step.
public enum AuthenticateWithAdvice: RPCMethod {
  public static let name = "authenticateWithAdvice"
  public static let bounds: PeerBounds = [.resources, .issuers]
  public static let chain: ChainRule = .checked
  public static let traits: MethodTraits = .answersQuestion
  public static let summary = "Lets a user do what policy advice requires, step by step"
  public static let explanation =
    "Begin with the session (or, for a user who is not logged in, with issuer) and advice, advices or the response that contained them; go on with continuation and callbacks, as with authenticate. A transaction comes last. An advice of RFC 9470 is a step of its own: a RedirectCallback whose redirectUrl is for the user's browser, and whose input callbackUrl takes the URL that the issuer led back to. When the access manager gives another login the session gets new tokens, all at once."
  public static let resultSummary = "The next questions, or the outcome"
  public static let errors: [ErrorCode] = [.adviceNotRecognised] + ErrorCode.journeys

  public struct Params: RPCObject {
    public var session: String?
    public var issuer: String?
    public var advice: PolicyAdviceDescription?
    public var advices: [PolicyAdviceDescription]?
    public var response: ParseAdvice.Params?
    public var answers: JSONValue?
    public var continuation: String?
    public var callbacks: [JSONValue]?

    public static let memberDocs = [
      "session":
        "The session to step up, or `only`, the caller's only live one; this or issuer is required at the beginning",
      "issuer":
        "In place of session, for a user who is not logged in: the issuer at whose access manager the advice is a login, which makes a session; needs the right to call authenticate, too",
      "advice": "The advice to satisfy; exactly one of advice, advices, response and continuation",
      "advices": "Several advices to satisfy",
      "response": "The response that contains them, received elsewhere",
      "answers": "Answers that are given without asking, as with authenticate",
      "continuation": "The continuation of the step",
      "callbacks": "The step's callbacks with their inputs filled in",
    ]
  }

  public typealias Result = JourneyResult
}

/// `authenticate`: a login at an access manager, step by step.
public enum Authenticate: RPCMethod {
  public static let name = "authenticate"
  public static let bounds: PeerBounds = .issuers
  public static let chain: ChainRule = .makesSessions
  public static let traits: MethodTraits = .answersQuestion
  public static let summary = "Logs a user in at an access manager, step by step"
  public static let explanation =
    "Begin with issuer and service or tree (the realm's default without), go on with continuation and callbacks. Callbacks come as the access manager sent them and go back with their inputs filled in: as many, in the same order. A step without inputs (a wait, a text) is taken on with its continuation alone."
  public static let resultSummary = "The next questions, or the outcome"
  public static let errors: [ErrorCode] = ErrorCode.journeys

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

/// `parseAdvice`: policy advice in an answer, offline.
public enum ParseAdvice: RPCMethod {
  public static let name = "parseAdvice"
  public static let bounds: PeerBounds = []
  public static let chain: ChainRule = .open
  public static let traits: MethodTraits = .needsNoApproval
  public static let summary = "Finds policy advice in an HTTP response, offline"
  public static let explanation =
    "Looks into WWW-Authenticate (SSOADVICE, RFC 9470, UMA), then into the Location of a redirect, then into a JSON body, and ends where it finds something. A body that is an advice map by itself counts at 401 and 403 only."
  public static let resultSummary = "The advices, and which part of the response contained them; none is no error"

  public struct Params: RPCObject {
    public var status: Int
    public var headers: [String: HeaderValue]
    public var body: BodyText?

    public static let memberDocs = [
      "status": "The HTTP status, 100 to 599",
      "headers": "Name to value, or to an array of values",
      "body": "The body as text; over 256 KiB it is not looked into",
    ]
  }

  public struct Result: RPCObject {
    public var advices: [PolicyAdviceDescription]
    public var source: AdviceFinding.Source?

    /// A result of the given parts.
    public init(advices: [PolicyAdviceDescription], source: AdviceFinding.Source?) {
      self.advices = advices
      self.source = source
    }

    public static let memberDocs = [
      "advices": "In order, each once; at most 16",
      "source": "The part of the response that contained them; only when there are any",
    ]
  }
}
