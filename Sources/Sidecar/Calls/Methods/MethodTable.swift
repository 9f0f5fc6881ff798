package import PosternJSON
package import PosternJSONRPC
package import PosternProtocol
import PosternSupport

/// The methods of this sidecar by name, their types erased. Built once, then immutable.
package struct MethodTable: Sendable {
  package typealias WaitingHandler = @Sendable (CallParams, CallContext) async throws(RPCFault) -> RPCResult

  /// How one method is carried out.
  package enum Handler: Sendable {
    /// Never waits: runs right where the request was read.
    case immediate(@Sendable (JSONTree?, CallContext) throws(RPCFault) -> RPCResult)
    /// May wait: runs in a task of its own, unless `attempt` has the answer at once.
    case waiting(WaitingHandler, attempt: Attempt? = nil)
  }

  /// Begins a call where the request was read.
  package typealias Attempt = @Sendable (JSONTree?, CallContext) throws(RPCFault) -> Beginning<RPCResult>

  /// How a call goes on after its params have been read.
  package enum Beginning<Result>: Sendable {
    /// Nothing had to be waited for.
    case answered(RPCResult)
    /// The rest has to be run in a task.
    case waits(@Sendable () async throws(RPCFault) -> Result)
    /// The rest runs without one.
    case begun(any BegunCall)
  }

  /// What people are shown of a call that acts for the user, as it will be carried out; throws what the call would end
  /// with.
  package typealias Preview = @Sendable (JSONTree?, CallContext) async throws(RPCFault) -> JSONObject

  private var handlers: [String: Handler] = [:]
  private var previews: [String: Preview] = [:]
  /// Return the fault in the form of the params of each method, by the decoder of its handler.
  private var checks: [String: @Sendable (JSONTree?) -> RPCFault?] = [:]

  package init() {}

  /// The error for a method that there is not, with the closest name among the methods that `rule` and the chain allow.
  func notFound(_ name: String, for rule: AccessRules.Rule?, _ narrowing: Narrowing?) -> RPCFault {
    let allowed = handlers.keys.filter {
      rule?.allows(method: $0) ?? false && narrowing?.allows(method: $0) ?? true
    }
    return RPCFault(
      .methodNotFound,
      Suggestion.appended(to: ErrorCode.methodNotFound.summary, for: name, among: allowed),
      details: ["method": .string(CallEnd.shortened(name))])
  }

  package subscript(name: String) -> Handler? { handlers[name] }

  /// The error of a call of `method` whose params have another form.
  func fault(in params: JSONTree?, of method: String) -> RPCFault? { checks[method]?(params) }

  /// What people are shown of calls of `method`; nil: their params.
  func preview(of method: String) -> Preview? { previews[method] }

  /// Adds what people are shown of calls of a method.
  package mutating func shows<Method: RPCMethod>(_ method: Method.Type, _ preview: @escaping Preview) {
    previews[Method.name] = preview
  }

  private mutating func addCheck<Method: RPCMethod>(of method: Method.Type) {
    checks[Method.name] = { Self.fault(in: $0, as: Method.Params.self) }
  }

  private static func fault<Params: RPCObject>(in params: JSONTree?, as type: Params.Type) -> RPCFault? {
    do throws(RPCFault) {
      _ = try decode(type, params)
      return nil
    } catch {
      return error
    }
  }

  /// Adds a method that answers at once.
  package mutating func immediate<Method: RPCMethod>(
    _ method: Method.Type, _ body: @escaping @Sendable (Method.Params, CallContext) throws(RPCFault) -> Method.Result
  ) {
    addCheck(of: method)
    handlers[Method.name] = .immediate { (params, context) throws(RPCFault) in
      try Self.encode(body(try Self.decode(Method.Params.self, params), context))
    }
  }

  /// Adds a method that may wait.
  package mutating func waiting<Method: RPCMethod>(
    _ method: Method.Type,
    _ body: @escaping @Sendable (Method.Params, CallContext) async throws(RPCFault) -> Method.Result
  ) {
    addCheck(of: method)
    handlers[Method.name] = .waiting { (params, context) async throws(RPCFault) in
      try Self.encode(await body(try Self.decode(Method.Params.self, params.take()), context))
    }
  }

  /// Adds a method that may wait, and whose result makes its value itself.
  package mutating func waiting<Method: RPCMethod>(
    _ method: Method.Type,
    _ body: @escaping @Sendable (Method.Params, CallContext) async throws(RPCFault) -> Method.Result
  ) where Method.Result: ValueResult {
    addCheck(of: method)
    handlers[Method.name] = .waiting { (params, context) async throws(RPCFault) in
      .value(try await body(try Self.decode(Method.Params.self, params.take()), context).json)
    }
  }

  /// Adds a method that often has its answer without waiting. Its beginning runs where the request was read, and must
  /// cost little.
  mutating func beginning<Method: RPCMethod>(
    _ method: Method.Type,
    _ begin: @escaping @Sendable (Method.Params, CallContext) throws(RPCFault) -> Beginning<Method.Result>
  ) where Method.Result: ValueResult {
    addCheck(of: method)
    let attempt: Attempt = { (params, context) throws(RPCFault) in
      switch try begin(try Self.decode(Method.Params.self, params), context) {
      case .answered(let result): return .answered(result)
      case .waits(let rest): return .waits { () async throws(RPCFault) in .value(try await rest().json) }
      case .begun(let call): return .begun(call)
      }
    }
    handlers[Method.name] = .waiting(Self.waiting(attempt), attempt: attempt)
  }

  /// The same for a method that writes its result itself.
  mutating func beginningText<Method: RPCMethod>(
    _ method: Method.Type,
    _ begin:
      @escaping @Sendable (consuming Method.Params, CallContext) throws(RPCFault) -> Beginning<Written<Method.Result>>
  ) {
    addCheck(of: method)
    let attempt: Attempt = { (params, context) throws(RPCFault) in
      switch try begin(try Self.decode(Method.Params.self, params), context) {
      case .answered(let result): return .answered(result)
      case .waits(let rest): return .waits { () async throws(RPCFault) in .text(try await rest().text) }
      case .begun(let call): return .begun(call)
      }
    }
    handlers[Method.name] = .waiting(Self.waiting(attempt), attempt: attempt)
  }

  /// Begins a call in a task, and carries out the rest of it there.
  private static func waiting(_ attempt: @escaping Attempt) -> WaitingHandler {
    { (params, context) async throws(RPCFault) in
      switch try attempt(params.take(), context) {
      case .answered(let result): return result
      case .waits(let rest): return try await rest()
      case .begun(let call): return try await call.outcome().get()
      }
    }
  }

  /// Adds a method that may wait, whose answer may carry a descriptor for the caller.
  mutating func waitingForDescriptor<Method: RPCMethod>(
    _ method: Method.Type,
    _ body:
      @escaping @Sendable (Method.Params, CallContext) async throws(RPCFault) -> (
        Method.Result, PassedResult?
      )
  ) {
    handlers[Method.name] = .waiting { (params, context) async throws(RPCFault) in
      let (result, passed) = try await body(try Self.decode(Method.Params.self, params.take()), context)
      let encoded = try Self.encode(result)
      guard let passed, let value = encoded.value else { return encoded }
      return .passing(value, passed)
    }
  }

  /// Adds a method that may wait and writes its result itself. The params are its own: what it removes from them is
  /// kept nowhere else.
  mutating func waitingForText<Method: RPCMethod>(
    _ method: Method.Type,
    _ body: @escaping @Sendable (consuming Method.Params, CallContext) async throws(RPCFault) -> Written<Method.Result>
  ) {
    addCheck(of: method)
    handlers[Method.name] = .waiting { (params, context) async throws(RPCFault) in
      .text(try await body(try Self.decode(Method.Params.self, params.take()), context).text)
    }
  }

  /// Adds a method whose answer has been written beforehand.
  package mutating func prepared<Method: RPCMethod>(
    _ method: Method.Type, _ body: @escaping @Sendable (CallContext) -> JSONText
  ) {
    addCheck(of: method)
    handlers[Method.name] = .immediate { (params, context) throws(RPCFault) in
      if let params { _ = try Self.decode(Method.Params.self, params) }
      return .text(body(context))
    }
  }

  /// Decodes the params of a call.
  package static func decode<Params: RPCObject>(_ type: Params.Type, _ params: JSONTree?) throws(RPCFault) -> Params {
    if let read = params.flatMap(Params.read) { return read }
    do {
      return try JSONValueDecoder().decode(type, from: params ?? [:])
    } catch {
      throw RPCFault(error)
    }
  }

  private static func encode(_ result: some Encodable) throws(RPCFault) -> RPCResult {
    do {
      return .value(try JSONValueEncoder().encode(result))
    } catch {
      throw RPCFault(.internalError)
    }
  }
}
