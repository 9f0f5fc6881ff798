import AuthEngine
import HTTPMessages
import PosternSupport

/// The invariants of every answer that a decision point can give.
public enum DecisionInvariants {
  /// The maximum length of a status's texts, in bytes, with what is put in front of it.
  private static let maxText = 4096 + 256

  /// Checks an input (see `DecisionInput`). Returns the number of permits.
  public static func check(_ bytes: [UInt8]) async throws -> Int {
    let input = DecisionInput(bytes)
    let clock = PatientClock()
    let point = try input.point(clock: clock)
    let transport = FixedDecisionPoint(input)
    let preauthorizer = PosternEngine(transport: transport, clock: clock, userAgent: "fuzz").preauthorizer
    let request = PreauthorizeRequest(resources: input.resources)
    let subject = DecisionSubject(id: "alice", uid: 1)
    let response = await preauthorizer.preauthorize(request, for: subject, at: point)
    try check(response, input)
    try demand(transport.questions.count <= 4 * input.resources.count + 4, "too many questions")
    if input.kind == .metadata { try checkQuestions(transport.questions, input) }
    // A decision that was no permit is none the second time, however it is cached.
    let again = await preauthorizer.preauthorize(request, for: subject, at: point)
    try demand(again.decisions.map(\.isAuthorized) == response.decisions.map(\.isAuthorized), "cached otherwise")
    return response.decisions.count(where: \.isAuthorized)
  }

  private static func check(_ response: PreauthorizeResponse, _ input: DecisionInput) throws {
    if let status = response.status {
      try demand(response.decisions.isEmpty, "decisions together with a status")
      try demand((response.outcome == .failure) == (status.status == 0), "a failure that the decision point reports")
      return try check(status)
    }
    try demand(response.outcome == .response, "a failure without a status")
    try demand(response.decisions.count == input.resources.count, "not one decision for each resource")
    // Each resource is requested once.
    var distinct: [[UInt8]] = []
    for resource in input.resources where !distinct.contains(Array(resource.utf8)) {
      distinct.append(Array(resource.utf8))
    }
    for (decision, resource) in zip(response.decisions, input.resources) {
      try demand(decision.id.utf8.elementsEqual(resource.utf8), "another resource")
      guard decision.isAuthorized else {
        guard let error = decision.error else { throw InvariantViolation(description: "a deny without an error") }
        try check(error)
        continue
      }
      let index = distinct.firstIndex(of: Array(resource.utf8)) ?? 0
      try demand(
        DecisionOracle.permits(input, resource, at: index, of: distinct.count),
        "a permit that is in no answer: \(resource)"
      )
    }
  }

  private static func check(_ status: Status) throws {
    try demand(!status.code.isEmpty && !status.action.isEmpty, "a status without code or action")
    try demand((0...999).contains(status.status), "a status that is none: \(status.status)")
    for text in [status.code, status.action, status.message, status.details, status.helpURL, status.trace] {
      try demand(text.map { $0.utf8.count <= maxText } ?? true, "a text without end")
    }
  }

  /// Questions go to the default paths, or where this decision point's own metadata say.
  private static func checkQuestions(_ questions: [String], _ input: DecisionInput) throws {
    let own = ["evaluation", "evaluations"].map { "\(FixedDecisionPoint.identifier)/access/v1/\($0)" }
    let given = DecisionOracle.endpoints(input).compactMap { try? HTTPURL($0).description }
    for question in questions {
      try demand(question.hasPrefix("https://"), "a question in the open")
      try demand(own.contains(question) || given.contains(question), "a request to another server: \(question)")
    }
  }
}
