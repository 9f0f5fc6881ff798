import Entitlements
import HTTPMessages
import OAuthClient
import PosternJSON
import PosternSupport

/// One request to the API, before it has an access token.
struct PassRequest: Sendable {
  let endpoint: PassEndpoint
  let method: String
  let segments: [String]
  var query: [(name: String, value: String)] = []
  var form: [(name: String, value: String)]?
  var json: JSONValue?

  /// The segments as events may have them: a code is secret.
  var shownSegments: [String] { endpoint.takesCode ? segments.dropLast() + ["CODE"] : segments }
}

/// An answer that is a success.
struct PassAnswer: Sendable {
  let document: JSONValue
  let status: Int
  /// The size of the body.
  let bytes: Int
  let trace: String?
  /// The time at the server.
  let serverTime: Timestamp

  /// Returns what `reader` reads in it; an error of the reading names this answer.
  func read<Value>(_ reader: (PassAnswer) throws(PassError) -> Value) throws(PassError) -> Value {
    do throws(PassError) {
      return try reader(self)
    } catch {
      throw error.about(self)
    }
  }

  /// Returns the time at the server that sent `response`. `Date` has whole seconds: within its second it is the time of
  /// this clock, so that what ends by both clocks ends at the same moment.
  static func serverTime(of response: HTTPResponse, at now: Timestamp) -> Timestamp {
    guard let date = response.fields["Date"].flatMap({ HTTPDate.parse($0) }) else { return now }
    return min(max(now, date), date + .seconds(1))
  }
}

/// Sends the requests of one call: with an access token, within the rate of the device's address, and again where
/// that is allowed. It alone decides which answer is a success, an error of Adobe's, or no answer.
struct PassExchange: Sendable {
  /// The largest answer in bytes.
  private static let maxBytes = 1 << 20
  /// The largest answer that is received in bytes: of a larger one not even the status is known.
  private static let maxReceivedBytes = 4 << 20
  private static let parser = JSONParser(maxBytes: maxBytes, maxDepth: 64)
  /// The longest pause that Adobe can impose.
  private static let longestPause = Duration.seconds(600)
  private static let firstDelay = Duration.milliseconds(250)
  private static let longestDelay = Duration.seconds(4)

  let provider: AdobePassProvider
  let link: DecisionClient
  let options: PassOptions
  let device: AdobePassDevice

  /// The poller that this is, for requests about a code.
  var poller: PassCodes.Poller {
    PassCodes.Poller(
      uid: link.subject.uid, device: device.identifier + device.information, isSecondScreen: options.isSecondScreen)
  }

  /// Sends `request` over the connections of its user, or where others wait for the answer over one of its own.
  func answer(_ request: PassRequest, isShared: Bool = false) async throws(PassError) -> PassAnswer {
    // A poll of a code is not retried: the next one comes soon.
    let attempts = request.endpoint == .profileOfCode ? 1 : max(1, link.point.settings.attempts)
    var delays = PassDelays()
    var hasReadAgain = false
    for attempt in 1... {
      let isLast = attempt >= attempts
      let response: HTTPResponse
      do throws(PassError) {
        response = try await sent(request, isShared: isShared)
      } catch {
        // Without an access token nothing was sent: any request may follow once the server gives one.
        let wait = error.outcome == .notSent ? error.retryAfter : nil
        guard error.kind == .unreachable, !isLast, wait != nil || request.endpoint.isRepeatable(with: options) else {
          throw error
        }
        try await pause(for: max(delays.next(), wait ?? .zero), or: error)
        continue
      }
      let trace = AdobePassProvider.trace(of: response)
      switch response.status {
      case 429:
        let wait = min(DecisionFault.pause(after: response), Self.longestPause)
        let error = PassError.tooMany(
          DecisionFault(response, trace: trace).status, http: response.status,
          code: AdobePassProvider.error(in: response)?.code, wait: wait, outcome: .replied)
        guard !isLast else { throw error }
        // The rate limiter has the pause, too, for other calls; without one this call waits by itself.
        try await pause(for: link.point.settings.rateLimit == nil ? wait : .zero, or: error, least: wait)
        continue
      case 401: throw Self.rejection(response, trace: trace)
      case 300..<400: throw .format("a redirect is not followed", http: response.status, trace: trace)
      default: break
      }
      let document = try? Self.parser.parse(response.body)
      if let document, let status = AdobePassProvider.error(in: document, status: response.status, trace: trace) {
        guard !AdobePassProvider.rejectsToken(response) else {
          throw Self.rejection(response, trace: trace)
        }
        let error = PassError.rejected(status, http: response.status, code: status.code)
        guard status.code == "internal_server_error", request.endpoint.isReadAgain, !hasReadAgain else { throw error }
        hasReadAgain = true
        try await pause(for: delays.next(), or: error)
        continue
      }
      switch response.status {
      case 200..<300:
        guard let document else {
          let problem = response.body.count > Self.maxBytes ? "is too large" : "is not JSON"
          throw .format("the answer \(problem)", http: response.status, trace: trace)
        }
        return PassAnswer(
          document: document, status: response.status, bytes: response.body.count, trace: trace,
          serverTime: PassAnswer.serverTime(of: response, at: link.clock.wallNow))
      case 500...:
        let error = PassError.unreachable(
          "Adobe Pass failed with status \(response.status)", outcome: .replied, http: response.status)
        guard !isLast, request.endpoint.isRepeatable(with: options) else { throw error }
        try await pause(for: delays.next(), or: error)
      default: throw .rejected(DecisionFault(response, trace: trace).status, http: response.status)
      }
    }
    throw .unreachable("no attempt is left", outcome: .notSent)
  }

  private func sent(_ request: PassRequest, isShared: Bool) async throws(PassError) -> HTTPResponse {
    var prepared = try prepared(request)
    prepared.shownURL = try url(of: request, request.shownSegments).withoutQuery
    return try await provider.authorized(over: link) {
      (token, purpose) async throws(PassError) -> HTTPResponse in
      var authorized = prepared
      authorized.fields["Authorization"] = "Bearer \(token.value.reveal())"
      var bounds = DecisionExchangeBounds()
      bounds.maxBodyBytes = Self.maxReceivedBytes
      bounds.longestPause = Self.longestPause
      do throws(DecisionExchangeError) {
        return try await link.attempt(authorized, for: isShared ? .confirmation : purpose, within: bounds)
      } catch {
        throw PassError(error)
      }
    } failure: { fault, response in
      if Task.isCancelled { return .ended(.cancelled) }
      let detail = fault.status.details ?? fault.status.message
      switch fault.retry {
      case .after(let wait): return .unreachable(detail, outcome: .notSent, retryAfter: wait)
      case .never where fault.isOutage: return .unreachable(detail, outcome: .notSent)
      case .never:
        return .rejected(
          fault.status, outcome: response == nil ? .notSent : .replied, http: response?.status,
          code: response.flatMap { AdobePassProvider.error(in: $0)?.code })
      }
    }
  }

  private func prepared(_ request: PassRequest) throws(PassError) -> HTTPRequest {
    let url = try url(of: request, request.segments)
    var fields = PassHeaders(options, device, for: request.endpoint).fields
    var body: [UInt8]?
    if let form = request.form {
      fields["Content-Type"] = FormEncoding.mediaType
      body = FormEncoding.encode(form)
    } else if let json = request.json {
      fields["Content-Type"] = AdobePassProvider.jsonType
      body = JSONWriter().write(json)
    }
    var prepared = HTTPRequest(method: request.method, url: url, fields: fields, body: body)
    // Attempts are counted here, and two requests about one code have a distance.
    prepared.isSentOnce = true
    return prepared
  }

  private func url(of request: PassRequest, _ segments: [String]) throws(PassError) -> HTTPURL {
    var path = segments.map { PercentEncoding.encode($0, for: .pathSegment) }.joined(separator: "/")
    if !request.query.isEmpty { path += "?" + String(decoding: FormEncoding.encode(request.query), as: UTF8.self) }
    do throws(HTTPURLError) {
      return try provider.url.appending(relativePath: path)
    } catch {
      throw .format("the URL of the request cannot be written: \(error.phrase)")
    }
  }

  /// Sleeps before the next attempt. Throws `error` where the call does not last until then, or `least` from now.
  func pause(for delay: Duration, or error: PassError, least: Duration? = nil) async throws(PassError) {
    if let remaining = link.deadline.remaining(on: link.clock), remaining <= max(delay, least ?? .zero) { throw error }
    guard delay > .zero else { return }
    guard (try? await link.clock.sleep(for: delay)) != nil else { throw .ended(.cancelled) }
  }

  /// The rejection of the access token.
  private static func rejection(_ response: HTTPResponse, trace: String?) -> PassError {
    .rejected(
      AdobePassProvider.rejection(response).traced(trace), http: response.status,
      code: AdobePassProvider.error(in: response)?.code)
  }

  /// The delays between attempts: doubled, and a fifth longer or shorter, so that many devices do not coincide.
  struct PassDelays {
    private var backoff = Backoff(first: PassExchange.firstDelay, longest: PassExchange.longestDelay)

    mutating func next() -> Duration {
      let delay = backoff.fail(at: MonotonicInstant(nanoseconds: 0))
      return min(PassExchange.longestDelay, delay * Int(80 + NonSecretRandom.shared.next() % 41) / 100)
    }
  }
}

extension PassError {
  /// More requests than Adobe accepts, or than may be sent to it: none for `wait`.
  static func tooMany(
    _ status: Status, http: Int?, code: String? = nil, wait: Duration, outcome: TransportError.Outcome
  ) -> PassError {
    let own = Status(
      status: status.status == 0 ? 429 : status.status, code: "too_many_requests", action: "retry-after",
      message: status.message, details: status.details, helpURL: status.helpURL, trace: status.trace)
    return .rejected(own, outcome: outcome, http: http, code: code, retryAfter: wait)
  }

  /// The same error, where it is one of reading `answer`: with its HTTP status and its trace.
  func about(_ answer: PassAnswer) -> PassError {
    guard kind == .rejected, upstream == nil else { return self }
    return PassError(
      kind: kind, status: status?.traced(answer.trace), next: next, isRetryable: isRetryable, retryAfter: retryAfter,
      outcome: outcome, upstream: UpstreamFault(status: answer.status), detail: detail)
  }

  /// A request without an answer.
  init(_ error: DecisionExchangeError) {
    switch error {
    case .insecure: self = .unreachable("the scheme of the base URL is not https", outcome: .notSent)
    case .cancelled: self = .ended(.cancelled)
    case .limited(let wait):
      self = .tooMany(
        Status(
          status: 429, code: "too_many_requests", action: "retry-after",
          message: "The rate limit allows no request to Adobe Pass before the end of the call."),
        http: nil, wait: wait, outcome: .notSent)
    case .transport(let error):
      switch error.code {
      case .cancelled: self = .ended(.cancelled, outcome: error.outcome)
      case .responseTooLarge: self = .format("the answer is too large")
      default: self = .unreachable(error.cause, outcome: error.outcome)
      }
    }
  }
}
