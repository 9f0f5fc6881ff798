import AuthEngine
import JOSE
import PosternSupport

/// Token after token through the engine: full rules, no cache of verdicts, keys that were parsed once.
struct Validations {
  private static let clockEvery = 16

  private let file: TokenFile
  private let options: Options
  private let keys: StaticJWKSet
  private let configuration: IDTokenConfiguration
  private let validator = IDTokenValidator(clock: SystemClock(), cache: nil)
  private var next = 0

  init(_ options: Options) throws(Failure) {
    guard let algorithm = SignatureAlgorithm(name: options.algorithm) else {
      throw Failure("\(options.algorithm): no such algorithm")
    }
    file = try TokenFile(path: options.tokens)
    do throws(KeySetError) {
      keys = try StaticJWKSet(text: try Self.text(options.keys))
    } catch {
      throw Failure("\(options.keys): \(error)")
    }
    self.options = options
    configuration = IDTokenConfiguration(issuer: options.issuer, algorithms: [algorithm])
  }

  /// How many were validated until the count, or else the time, was reached. Each must be valid.
  mutating func run(count: Int?, seconds: Double) async throws -> Int {
    let end = Meter.seconds + seconds
    var done = 0
    while done < count ?? .max {
      if count == nil, done % Self.clockEvery == 0, Meter.seconds >= end { break }
      if let fault = try await verdict(on: file.lines[next]).fault {
        throw Failure("\(options.tokens): line \(next + 1) was refused: \(fault)")
      }
      next = next + 1 == file.lines.count ? 0 : next + 1
      done += 1
    }
    return done
  }

  /// Whether each line's token is valid.
  func verdicts() async throws -> [Bool] {
    var verdicts: [Bool] = []
    for line in file.lines { verdicts.append(try await verdict(on: line).isValid) }
    return verdicts
  }

  private func verdict(on line: TokenFile.Line) async throws(KeySetError) -> TokenVerdict {
    let expectations = IDTokenExpectations(
      clientID: options.client, nonce: line.nonce, accessToken: line.accessToken)
    return try await validator.validate(
      line.token, expecting: expectations, configuration: configuration, keys: keys)
  }

  private static func text(_ path: String) throws(KeySetError) -> [UInt8] {
    do throws(Failure) {
      return try TokenFile.bytes(of: path)
    } catch {
      throw KeySetError(.invalid, error.message)
    }
  }
}
