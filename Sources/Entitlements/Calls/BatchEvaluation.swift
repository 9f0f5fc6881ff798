import PosternSupport

/// Asks about one batch: splits what is refused as a whole, repeats what may be repeated, and ends with a verdict for
/// each resource.
struct BatchEvaluation {
  /// The pause before the second try; it doubles.
  private static let firstPause = Duration.milliseconds(100)

  let point: DecisionPoint
  let link: DecisionClient
  /// The question; its resources are replaced.
  let question: DecisionBatch

  /// One verdict for each of `resources`, in their order.
  func verdicts(about resources: [ResourceName]) async -> [DecisionVerdict] {
    var verdicts: [DecisionVerdict] = []
    var pending = Array(resources.indices)
    var pause = Self.firstPause
    for attempt in 1...max(1, point.settings.attempts) {
      var effort = Effort(for: pending.count)
      let answers = await ask(pending.map { resources[$0] }, &effort)
      if attempt == 1 {
        verdicts = answers
      } else {
        for (place, verdict) in zip(pending, answers) { verdicts[place] = verdict }
      }
      var wait: Duration?
      pending = pending.filter { place in
        guard case .fault(let fault) = verdicts[place], case .after(let asked) = fault.retry else { return false }
        wait = max(wait ?? .zero, asked ?? pause)
        return true
      }
      guard let wait, attempt < point.settings.attempts,
        link.deadline.remaining(on: link.clock).map({ wait < $0 }) ?? true
      else { break }
      guard (try? await link.clock.sleep(for: wait)) != nil else { break }
      pause = pause * 2
    }
    return verdicts
  }

  /// What asking about a batch may still cost.
  private struct Effort {
    /// How many batches may be split: enough to find two culprits, too few to ask about each resource of a decision
    /// point that refuses everything.
    var splits = 2
    /// Even one resource was too many: nothing more is asked.
    var refusal: DecisionFault?

    init(for count: Int) {
      var size = count
      while size > 1 {
        splits += 2
        size /= 2
      }
    }
  }

  private func ask(_ resources: [ResourceName], _ effort: inout Effort) async -> [DecisionVerdict] {
    if let refusal = effort.refusal { return resources.map { _ in .fault(refusal) } }
    let limit = point.batchLimit(for: link.subject.owner, at: link.clock.monotonicNow)
    guard resources.count <= limit else { return await ask(resources, inPiecesOf: limit, &effort) }
    var batch = question
    batch.resources = resources
    do throws(DecisionFault) {
      let answers = try await point.provider.evaluate(batch, over: link)
      // No word of any of them: with some decision points one that they do not know makes them silent about all.
      let isSilent = resources.count > 1 && answers.allSatisfy { $0 == nil }
      guard answers.count == resources.count, !isSilent else {
        throw DecisionFault.format("the answer does not speak of the resources", remedy: .split)
      }
      return answers.map { $0 ?? .fault(.item("the answer does not speak of this resource")) }
    } catch {
      switch error.remedy {
      case .shrink where resources.count > 1 && !Task.isCancelled:
        point.learn(tooMany: resources.count, for: link.subject.owner, at: link.clock.monotonicNow)
        return await ask(resources, inPiecesOf: resources.count / 2, &effort)
      case .split where resources.count > 1 && effort.splits > 0 && !Task.isCancelled:
        effort.splits -= 1
        return await ask(resources, inPiecesOf: (resources.count + 1) / 2, &effort)
      case .shrink: effort.refusal = error
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
