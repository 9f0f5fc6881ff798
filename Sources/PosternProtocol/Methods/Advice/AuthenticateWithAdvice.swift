public import PosternJSON
public import PosternJSONRPC

/// `authenticateWithAdvice`: satisfies policy advice, step by step.
public enum AuthenticateWithAdvice: RPCMethod {
  public static let name = "authenticateWithAdvice"
  public static let bounds: PeerBounds = [.resources, .issuers]
  public static let summary = "Lets a user do what policy advice requires, step by step"
  public static let explanation =
    "Begin with the session and advice, advices or the response that contained them; go on with continuation and callbacks, as with authenticate. A transaction comes last. An advice of RFC 9470 is a step of its own: a RedirectCallback whose redirectUrl is for the user's browser, and whose input callbackUrl takes the URL that the issuer led back to. When the access manager gives another login the session gets new tokens, all at once."
  public static let resultSummary = "The next questions, or the outcome"
  public static let errors: [RPCErrorCode] = [.adviceNotRecognised] + RPCErrorCode.journeys

  public struct Params: RPCObject {
    public var session: String?
    public var advice: PolicyAdviceDescription?
    public var advices: [PolicyAdviceDescription]?
    public var response: ParseAdvice.Params?
    public var answers: JSONValue?
    public var continuation: String?
    public var callbacks: [JSONValue]?

    public static let memberDocs = [
      "session": "The session to step up; may be left out when only one of the peer's sessions qualifies",
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
