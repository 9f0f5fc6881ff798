import PosternSupport

/// Evaluates one batch: splits a batch that is rejected as a whole, retries what may be retried, and ends with one
/// verdict for each resource.
struct BatchEvaluation {
  let point: DecisionPoint
  let link: DecisionClient
  /// The batch as a template; its resources are replaced.
  let question: DecisionBatch

  /// One verdict for each of `resources`, in their order.
  func verdicts(about resources: [ResourceName]) async -> [DecisionVerdict] {
    var verdicts: [DecisionVerdict] = []
    var pending = Array(resources.indices)
    var backoff = Backoff(first: .milliseconds(100), longest: .seconds(60))
    for attempt in 1...max(1, point.settings.attempts) {
      var effort = Effort(for: pending.count)
      let answers = await ask(pending.map { resources[$0] }, &effort)
      if attempt == 1 {
        verdicts = answers
      } else {
        for (index, verdict) in zip(pending, answers) { verdicts[index] = verdict }
      }
      let pause = backoff.fail(at: link.clock.monotonicNow)
      var wait: Duration?
      pending = pending.filter { index in
        guard case .fault(let fault) = verdicts[index], case .after(let delay) = fault.retry else { return false }
        wait = max(wait ?? .zero, delay ?? pause)
        return true
      }
      guard let wait, attempt < point.settings.attempts,
        link.deadline.remaining(on: link.clock).map({ wait < $0 }) ?? true
      else { break }
      guard (try? await link.clock.sleep(for: wait)) != nil else { break }
    }
    return verdicts
  }

  /// The number of further requests that a batch may cause.
  private struct Effort {
    /// The number of batches that may still be split: enough to find two resources that make the server reject the
    /// batch, too few for one request per resource when it rejects everything.
    var splits = 2
    /// The error of a batch of one resource that was too large; nothing more is requested then.
    var finalError: DecisionFault?

    init(for count: Int) {
      var size = count
      while size > 1 {
        splits += 2
        size /= 2
      }
    }
  }

  private func ask(_ resources: [ResourceName], _ effort: inout Effort) async -> [DecisionVerdict] {
    if let error = effort.finalError { return resources.map { _ in .fault(error) } }
    let limit = point.batchLimit(for: link.subject.uid, at: link.clock.monotonicNow)
    guard resources.count <= limit else { return await ask(resources, inPiecesOf: limit, &effort) }
    var batch = question
    batch.resources = resources
    do throws(DecisionFault) {
      let answers = try await point.provider.evaluate(batch, over: link)
      // No resource has a decision: some decision points leave out all of them because of one that they do not know.
      let isSilent = resources.count > 1 && answers.allSatisfy { $0 == nil }
      guard answers.count == resources.count, !isSilent else {
        throw DecisionFault.format("the answer has no decision about the resources", remedy: .split)
      }
      return answers.map { $0 ?? .fault(.item("the answer has no decision about this resource")) }
    } catch {
      switch error.remedy {
      case .shrink where resources.count > 1 && !Task.isCancelled:
        point.learn(tooMany: resources.count, for: link.subject.uid, at: link.clock.monotonicNow)
        return await ask(resources, inPiecesOf: resources.count / 2, &effort)
      case .split where resources.count > 1 && effort.splits > 0 && !Task.isCancelled:
        effort.splits -= 1
        return await ask(resources, inPiecesOf: (resources.count + 1) / 2, &effort)
      case .shrink: effort.finalError = error
      case .split, .none: break
      }
      return resources.map { _ in .fault(error) }
    }
  }

  private func ask(
    _ resources: [ResourceName], inPiecesOf size: Int, _ effort: inout Effort
  ) async -> [DecisionVerdict] {
    var verdicts: [DecisionVerdict] = []
    for start in stride(from: 0, to: resources.count, by: size) {
      verdicts += await ask(Array(resources[start..<min(start + size, resources.count)]), &effort)
    }
    return verdicts
  }
}
