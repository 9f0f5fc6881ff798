public import PosternJSON
import PosternSupport

/// One connection's conversation as a pure state machine: events in, actions out; no sockets, no tasks, no clock.
///
/// Owned by `JSONRPCConnection`, which acts on the actions after releasing its lock.
struct ConnectionStateMachine {
  /// A step that the connection has to carry out, in order.
  enum Action {
    /// Carry out a call and report its end with `completed`.
    case invoke(Call)
    /// Stop working on a call; its answer has been given.
    case cancel(UInt64)
    /// A call was rejected because too many are in flight.
    case rejectedUnread
    /// A message was rejected before it was a call; for each kind of error only the first time on the connection.
    case rejectedMessage(String)
    /// Send a text.
    case write(OutgoingText)
    /// A request of ours was answered, or never will be.
    case resolve(UInt64, Result<JSONValue, PeerError>)
    /// Close once everything written has left.
    case close

    /// Whether to write it takes long.
    var isLong: Bool {
      guard case .write(let text) = self else { return false }
      return text.weight(upTo: JSONRPCConnection.longText) >= JSONRPCConnection.longText
    }
  }

  /// A call being worked on.
  private struct InFlight {
    let key: UInt64
    let id: RPCID?
    let batch: UInt64?
    /// Where its answer goes in the batch.
    let slot: Int
    /// Answered already (cancelled), but still being worked on: it counts towards the limit until it ends.
    var lingers = false
  }

  /// The calls being worked on, in the order in which they came: their keys only grow. Mostly there are a few, and those
  /// in a dictionary would cost more.
  private struct CallsInFlight {
    private(set) var calls: [InFlight] = []

    var count: Int { calls.count }

    subscript(key: UInt64) -> InFlight? { position(of: key).map { calls[$0] } }

    mutating func append(_ call: InFlight) { calls.append(call) }

    mutating func remove(_ key: UInt64) -> InFlight? { position(of: key).map { calls.remove(at: $0) } }

    /// Its answer has been given.
    mutating func linger(_ key: UInt64) {
      if let position = position(of: key) { calls[position].lingers = true }
    }

    private func position(of key: UInt64) -> Int? {
      var (start, end) = (0, calls.count)
      while start < end {
        let middle = (start &+ end) / 2
        if calls[middle].key < key { start = middle &+ 1 } else { end = middle }
      }
      return start < calls.count && calls[start].key == key ? start : nil
    }
  }

  /// How well-formed the texts of the connection are.
  private struct TextQuality {
    private var malformedInARow = 0
    /// Whether a text was rejected that was complete by its brackets: what shares its line is dropped.
    private var lineIsSpoiled = false

    func isDropped(_ input: ConversationInput) -> Bool { lineIsSpoiled && input.sharesLine }

    mutating func wellFormed() { self = TextQuality() }

    /// Returns how many were malformed in a row.
    mutating func malformed(isLineSpoiled: Bool) -> Int {
      lineIsSpoiled = isLineSpoiled
      malformedInARow += 1
      return malformedInARow
    }
  }

  /// A batch whose answers are being collected.
  private struct Batch {
    var answers: [OutgoingText?]
    var open: Int
  }

  let limits: ConversationLimits
  private var inFlight = CallsInFlight()
  private var batches: [UInt64: Batch] = [:]
  private var outgoing: [RPCID: UInt64] = [:]
  private var nextKey: UInt64 = 1
  private var textQuality = TextQuality()
  /// The kinds of errors of messages that were reported.
  private var reported: Set<ErrorCode> = []
  /// Calls in flight that have not been cancelled, notifications included: a half-closed connection waits for them.
  private var pending = 0
  private var inputEnded = false
  private var draining = false
  private var closed = false

  init(limits: ConversationLimits) { self.limits = limits }

  /// How many calls are being worked on.
  var inFlightCount: Int { inFlight.count }

  /// Whether the call has not come to its end.
  func isWorking(on key: UInt64) -> Bool { inFlight[key] != nil }

  /// Whether the call still runs although its response was written, or is not needed any more.
  func isAbandoned(_ key: UInt64) -> Bool { inFlight[key]?.lingers ?? false }

  // MARK: - Events

  /// The transport delivered something.
  mutating func receive(_ input: ConversationInput, _ act: inout [Action]) {
    guard !closed else { return }
    guard !textQuality.isDropped(input) else { return }
    switch input {
    case .text(.success(let json), _):
      textQuality.wellFormed()
      receive(json, &act)
    case .text(.failure(let error), _):
      rejectText(error.description, isLineSpoiled: true, &act)
    case .malformed(let reason, _):
      rejectText(reason, isLineSpoiled: false, &act)
    case .oversized(let limit, _):
      let rule =
        limit < limits.messageBytes
        ? "the limit of a user that no rule of peers matches" : "limits.messageBytes"
      let message = "The message is over \(rule): \(limit) bytes"
      rejectDiscarded(RPCFault(.messageTooLarge, message, details: ["limitBytes": .integer(Int64(limit))]), &act)
    case .tooComplex(let limit, _):
      let message = "The message has more JSON values than limits.jsonValues: \(limit)"
      rejectDiscarded(RPCFault(.messageTooComplex, message, details: ["limitValues": .integer(Int64(limit))]), &act)
    case .violation(let reason):
      reject(RPCFault(.parseError, reason), &act)
      end(&act)
    case .crowded(let limit):
      reject(
        RPCFault(
          .overloaded, "Too many bytes of unfinished messages of this user", outcome: .notSent, isRetryable: true,
          retryAfter: .seconds(1), details: ["limitBytes": .integer(Int64(limit))]), &act)
      end(&act)
    }
  }

  /// A call came to its end.
  mutating func completed(_ key: UInt64, with outcome: Result<RPCResult, RPCFault>, _ act: inout [Action]) {
    guard let call = inFlight.remove(key) else { return }
    if !call.lingers { deliver(outcome, of: call, &act) }
    closeIfDone(&act)
  }

  /// The caller closed its sending side: pending answers are still written.
  mutating func endInput(_ act: inout [Action]) {
    guard !inputEnded else { return }
    inputEnded = true
    abandonOutgoing(&act)
    closeIfDone(&act)
  }

  /// No new requests from here on; the connection ends when the pending ones are answered.
  mutating func drain(_ act: inout [Action]) {
    guard !draining else { return }
    draining = true
    closeIfDone(&act)
  }

  /// Ends the connection. Each pending call is answered once, with `fault`, or `shutting_down` where there is none.
  mutating func finish(with fault: RPCFault? = nil, _ act: inout [Action]) {
    let fault =
      fault
      ?? RPCFault(.shuttingDown, Self.unfinished, outcome: .sentNoReply, isRetryable: false)
    guard !closed else { return }
    draining = true
    for call in inFlight.calls where !call.lingers {
      inFlight.linger(call.key)
      act.append(.cancel(call.key))
      deliver(.failure(fault), of: call, &act)
    }
    end(&act)
  }

  /// Unlike a rejected request, it may have had an effect.
  private static let unfinished =
    "Shutting down: there was no time left to finish the call, which may have had an effect"

  /// The connection is gone: everything it alone owned is cancelled.
  mutating func connectionClosed(_ act: inout [Action]) {
    guard !closed else { return }
    closed = true
    for call in inFlight.calls where !call.lingers {
      inFlight.linger(call.key)
      act.append(.cancel(call.key))
    }
    pending = 0
    batches = [:]
    abandonOutgoing(&act)
  }

  /// Ends a call of this connection with `request_cancelled`, exactly once; false when it has ended already.
  mutating func cancel(_ key: UInt64, _ act: inout [Action]) -> Bool {
    guard let call = inFlight[key], !call.lingers else { return false }
    inFlight.linger(key)
    act.append(.cancel(key))
    deliver(.failure(RPCFault(.requestCancelled)), of: call, &act)
    closeIfDone(&act)
    return true
  }

  /// Sends the caller a request of ours; nil when it cannot be answered any more or too many are open.
  mutating func request(_ method: String, _ params: JSONValue, _ act: inout [Action]) -> UInt64? {
    guard !closed, !inputEnded, outgoing.count < limits.outgoing else { return nil }
    let key = takeKey()
    let id = RPCID.string("postern-\(key)")
    outgoing[id] = key
    act.append(.write(.message(["jsonrpc": "2.0", "id": id.jsonValue, "method": .string(method), "params": params])))
    return key
  }

  /// Forgets a request of ours whose response is not needed any more.
  mutating func forget(outgoing key: UInt64) {
    outgoing[.string("postern-\(key)")] = nil
  }

  // MARK: - Requests

  private mutating func receive(_ json: JSONTree, _ act: inout [Action]) {
    guard let members = json.elements else { return receive(Envelope(json), batch: nil, slot: 0, &act) }
    guard !members.isEmpty else { return reject(RPCFault(.invalidRequest, "An empty batch"), &act) }
    guard members.count <= limits.batch else {
      let message = "The batch has more members than limits.batch: \(limits.batch)"
      return reject(RPCFault(.batchTooLarge, message, details: ["limit": .integer(Int64(limits.batch))]), &act)
    }
    let batch = takeKey()
    // Counted as open once more until all members are in, so that it is not answered half-read.
    batches[batch] = Batch(answers: Array(repeating: nil, count: members.count), open: 1)
    for (slot, member) in members.enumerated() { receive(Envelope(member), batch: batch, slot: slot, &act) }
    closeSlot(of: batch, slot: nil, nil, &act)
  }

  private mutating func receive(_ envelope: Envelope, batch: UInt64?, slot: Int, _ act: inout [Action]) {
    switch envelope {
    case .request(let id, let method, let params):
      guard let key = admit(id, method, batch, slot, &act) else { return }
      act.append(.invoke(Call(key: key, id: id, method: method, params: params, position: slot)))
    case .notification("$/cancelRequest", let params):
      if let params, let id = Self.id(in: params) { cancel(id, &act) }
    case .notification(let method, let params):
      guard !draining else { return }
      guard hasRoom(for: method) else { return act.append(.rejectedUnread) }
      let key = takeKey()
      inFlight.append(InFlight(key: key, id: nil, batch: nil, slot: 0))
      pending += 1
      act.append(.invoke(Call(key: key, id: nil, method: method, params: params, position: slot)))
    case .response(let id, let result):
      if let key = outgoing.removeValue(forKey: id) { act.append(.resolve(key, result)) }
    case .invalid(let id, let fault):
      report(fault, &act)
      reject(id, fault, batch, slot, &act)
    case .invalidNotification: break
    }
  }

  /// The id that `$/cancelRequest` names.
  private static func id(in params: JSONTree) -> RPCID? {
    var id: RPCID?
    _ = params.readMembers { member in
      if member.isNamed("id") { id = RPCID(member) }
      return id == nil
    }
    return id
  }

  /// Accepts a request, or rejects it.
  private mutating func admit(
    _ id: RPCID, _ method: String, _ batch: UInt64?, _ slot: Int, _ act: inout [Action]
  ) -> UInt64? {
    if draining {
      reject(id, RPCFault(.shuttingDown, outcome: .notSent, isRetryable: true), batch, slot, &act)
      return nil
    }
    guard hasRoom(for: method) else {
      act.append(.rejectedUnread)
      let message = "Too many requests in flight on this connection (limits.inFlightPerConnection)"
      let fault = RPCFault(
        .overloaded, message, outcome: .notSent, isRetryable: true, retryAfter: .milliseconds(100),
        details: ["limit": .integer(Int64(limits.inFlight))])
      reject(id, fault, batch, slot, &act)
      return nil
    }
    let key = takeKey()
    inFlight.append(InFlight(key: key, id: id, batch: batch, slot: slot))
    pending += 1
    if let batch { batches[batch]?.open += 1 }
    return key
  }

  /// How many calls that give rights up may be in flight beyond the limit of all.
  private static let roomAlways = 16

  /// Whether one more call of `method` is taken.
  func hasRoom(for method: String) -> Bool {
    inFlight.count < limits.inFlight
      || limits.alwaysAdmitted.contains(method) && inFlight.count < limits.inFlight + Self.roomAlways
  }

  private mutating func cancel(_ id: RPCID, _ act: inout [Action]) {
    for call in inFlight.calls where call.id == id { _ = cancel(call.key, &act) }
  }

  // MARK: - Answers

  private mutating func deliver(_ outcome: Result<RPCResult, RPCFault>, of call: InFlight, _ act: inout [Action]) {
    guard !closed else { return }
    pending -= 1
    guard let id = call.id else { return }
    let text = OutgoingText(id, outcome)
    if let batch = call.batch { closeSlot(of: batch, slot: call.slot, text, &act) } else { act.append(.write(text)) }
  }

  private mutating func reject(
    _ id: RPCID?, _ fault: RPCFault, _ batch: UInt64?, _ slot: Int, _ act: inout [Action]
  ) {
    guard let batch else { return answer(id, fault, &act) }
    batches[batch]?.answers[slot] = OutgoingText(id, .failure(fault))
  }

  private mutating func closeSlot(of batch: UInt64, slot: Int?, _ text: OutgoingText?, _ act: inout [Action]) {
    if let slot { batches[batch]?.answers[slot] = text }
    batches[batch]?.open -= 1
    guard let collected = batches[batch], collected.open == 0 else { return }
    batches[batch] = nil
    let answers = collected.answers.compactMap(\.self)
    if !answers.isEmpty { act.append(.write(.batch(answers))) }
  }

  private func answer(_ id: RPCID?, _ fault: RPCFault, _ act: inout [Action]) {
    act.append(.write(OutgoingText(id, .failure(fault))))
  }

  /// Answers a message that is no call.
  private mutating func reject(_ fault: RPCFault, _ act: inout [Action]) {
    report(fault, &act)
    answer(nil, fault, &act)
  }

  private mutating func report(_ fault: RPCFault, _ act: inout [Action]) {
    if reported.insert(fault.code).inserted { act.append(.rejectedMessage(fault.message)) }
  }

  /// A message of which nothing was read: it may have been well-formed.
  private mutating func rejectDiscarded(_ fault: RPCFault, _ act: inout [Action]) {
    textQuality.wellFormed()
    reject(fault, &act)
  }

  private mutating func rejectText(_ reason: String, isLineSpoiled: Bool, _ act: inout [Action]) {
    reject(RPCFault(.parseError, "Parse error: \(reason)"), &act)
    if textQuality.malformed(isLineSpoiled: isLineSpoiled) >= limits.malformedInARow { end(&act) }
  }

  // MARK: - Ends

  private mutating func closeIfDone(_ act: inout [Action]) {
    if inputEnded || draining, !closed, pending == 0 { end(&act) }
  }

  /// Nothing is read any more; what is written still leaves, what is pending is stopped.
  private mutating func end(_ act: inout [Action]) {
    connectionClosed(&act)
    act.append(.close)
  }

  private mutating func abandonOutgoing(_ act: inout [Action]) {
    for key in outgoing.values { act.append(.resolve(key, .failure(PeerError(message: "the connection ended")))) }
    outgoing = [:]
  }

  private mutating func takeKey() -> UInt64 {
    defer { nextKey += 1 }
    return nextKey
  }
}

/// An input of one connection, as the transport delivers it without framing.
public enum ConversationInput: Sendable {
  /// One complete text, parsed. `sharesLine`: there was no line feed between the text before and this one.
  case text(Result<JSONTree, JSONParseError>, sharesLine: Bool)
  /// Bytes that cannot be a JSON text; the framing skips to the next line feed by itself.
  case malformed(String, sharesLine: Bool)
  /// A message of more than `limit` bytes; they are discarded by the framing.
  case oversized(limit: Int, sharesLine: Bool)
  /// A message of more than `limit` JSON values; its bytes are discarded by the framing.
  case tooComplex(limit: Int, sharesLine: Bool)
  /// More than `limit` bytes of unfinished messages have come from the caller's user: this one is given up, and the
  /// connection with it.
  case crowded(limit: Int)
  /// Bytes after which the conversation cannot go on.
  case violation(String)

  /// Whether there was no line feed between the text before and this one.
  var sharesLine: Bool {
    switch self {
    case .text(_, let sharesLine), .malformed(_, let sharesLine), .oversized(_, let sharesLine),
      .tooComplex(_, let sharesLine):
      sharesLine
    case .crowded, .violation: false
    }
  }
}
